"""Mounts, remounts and unmounts."""

from attempt import call, denied

denied(
    lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    lambda: call("mount", b"none", b"/usr", None, 32 | 4096, None),
    lambda: call("mount", b"proc", b"/tmp", b"proc", 0, None),
    lambda: call("umount2", b"/proc", 2),
    lambda: call("umount2", b"/usr", 2),
    lambda: call("syscall", 428, -100, b"/", 1),
    lambda: call("syscall", 430, b"tmpfs", 0),
)
