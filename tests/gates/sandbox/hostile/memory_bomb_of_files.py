"""Takes memory in files."""

from pathlib import Path

full = 0
for folder in (".", "/tmp", "/dev/shm"):
    try:
        for number in range(1000):
            Path(folder, f"{number}").write_bytes(b"x" * (1 << 20))
    except OSError:
        full += 1
print("held" if full == 3 else full)
