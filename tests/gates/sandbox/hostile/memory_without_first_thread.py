"""Takes memory in processes whose first thread has ended."""

import os
import platform
import signal
import threading
from pathlib import Path

from attempt import call

EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]


def take() -> None:
    first = Path(f"/proc/self/task/{os.getpid()}/stat")
    while ") Z " not in first.read_text():
        pass
    taken = bytearray(b"x" * (40 << 20))
    signal.pause()
    del taken


for _ in range(8):
    if os.fork() == 0:
        threading.Thread(target=take).start()
        call("syscall", EXIT, 0)
signal.pause()
