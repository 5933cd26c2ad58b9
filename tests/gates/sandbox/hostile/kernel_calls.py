"""Calls what only a system may."""

from attempt import call, denied

denied(
    lambda: call("syscall", 321, 0, 0, 0),
    lambda: call("syscall", 298, 0, 0, 0, 0, 0),
    lambda: call("syscall", 323, 1),
    lambda: call("syscall", 425, 1, b"\0" * 120),
    lambda: call("syscall", 250, 0, -3, 1),
    lambda: call("syscall", 248, b"user", b"x", b"x", 1, -3),
    lambda: call("personality", 0x0040000),
    lambda: call("syscall", 169, 0, 0, 0),
    lambda: call("sethostname", b"x", 1),
    lambda: call("syscall", 175, 0, 0, b""),
    lambda: call("settimeofday", b"\0" * 16, None),
)
