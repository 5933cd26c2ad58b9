"""Reads files of the machine."""

import os

from attempt import outside, refused

refused(
    lambda: open(outside["secret"]).read(),
    lambda: open("/etc/shadow").read(),
    lambda: open("/etc/passwd").read(),
    lambda: os.listdir(outside["home"] + "/.ssh"),
    lambda: open("/proc/1/root" + outside["secret"]).read(),
    lambda: open("/proc/self/cwd/../.." + outside["secret"]).read(),
)
