"""Writes beside its own folders."""

import os

from attempt import outside, refused

refused(
    lambda: open(outside["secret"], "w"),
    lambda: open("/usr/x", "w"),
    lambda: open("/x", "w"),
    lambda: os.mkdir("/usr/y"),
    lambda: open("/etc/x", "w"),
    lambda: open("/dev/x", "w"),
    lambda: os.rename("/usr/bin", "/usr/nib"),
    lambda: os.unlink("/usr/bin/env"),
    lambda: os.chmod("/usr/bin/env", 0o777),
    lambda: os.utime("/usr/bin/env"),
)
