"""Looks for processes that are not its own."""

import os

found = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
print("held" if found <= {os.getpid()} else found)
