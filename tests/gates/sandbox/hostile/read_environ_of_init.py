"""Reads what /proc says of PID 1, and reaches through it."""

import os

from attempt import refused

refused(
    lambda: open("/proc/1/environ").read(),
    lambda: open("/proc/1/cmdline").read(),
    lambda: open("/proc/1/maps").read(),
    lambda: os.listdir("/proc/1/fd"),
    lambda: open("/proc/1/mem", "r+b"),
    lambda: os.readlink("/proc/1/root"),
)
