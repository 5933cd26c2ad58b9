"""Puts words into a terminal."""

import fcntl

from attempt import refused

refused(
    lambda: fcntl.ioctl(0, 0x5412, b"x"),
    lambda: fcntl.ioctl(1, 0x5412, b"x"),
    lambda: fcntl.ioctl(2, 0x5412, b"x"),
)
