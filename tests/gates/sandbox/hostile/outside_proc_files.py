"""Looks for what /proc has of the whole machine."""

import os

from attempt import refused

refused(
    lambda: open("/proc/sys/kernel/hostname", "w"),
    lambda: open("/proc/sys/kernel/core_pattern").read(),
    lambda: open("/proc/sysrq-trigger", "w").write("c"),
    lambda: open("/proc/kcore", "rb").read(1),
    lambda: open("/proc/kallsyms").read(1),
    lambda: open("/proc/meminfo").read(),
    lambda: os.listdir("/sys"),
    lambda: open("/proc/keys").read(),
)
