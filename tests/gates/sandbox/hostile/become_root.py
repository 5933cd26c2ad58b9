"""Changes who it is."""

import os

from attempt import refused

refused(
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: os.setresuid(65534, 65534, 65534),
    lambda: os.chown("main.py", 0, 0),
)
