"""Opens devices and terminals."""

import os

from attempt import refused

refused(
    lambda: open("/dev/kmsg"),
    lambda: open("/dev/mem", "rb"),
    lambda: open("/dev/tty"),
    lambda: open("/dev/vda", "rb"),
    lambda: open("/dev/ptmx"),
    lambda: open("/dev/console"),
    lambda: open("/dev/fuse"),
    lambda: open("/dev/vsock"),
    lambda: open("/dev/null/../tty0"),
    lambda: os.openpty(),
)
