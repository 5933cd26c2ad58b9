"""Takes memory without end, in one process."""

held: list[bytearray] = []
try:
    while True:
        held.append(bytearray(b"x" * (8 << 20)))
except MemoryError:
    held.clear()
    print("held")
