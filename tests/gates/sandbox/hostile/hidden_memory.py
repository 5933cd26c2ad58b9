"""Takes memory that no process would be counted for."""

import mmap
import os

from attempt import call, denied

denied(
    lambda: call("shmget", 0, 1 << 20, 0o1600),
    lambda: call("syscall", 319, b"x", 0),
    lambda: mmap.mmap(-1, 1 << 20),
    lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 1 << 20),
    lambda: call("syscall", 278, 1, None, 0, 0),
    lambda: call("msgget", 0, 0o1600),
)
