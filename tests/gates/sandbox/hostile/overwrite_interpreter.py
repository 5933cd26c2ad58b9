"""Changes the interpreter and its library."""

import os
import sys

from attempt import refused

refused(
    lambda: open(sys.executable, "r+b"),
    lambda: open(os.path.realpath(sys.executable), "r+b"),
    lambda: open(os.__file__, "a"),
    lambda: os.truncate(os.__file__, 0),
    lambda: open(os.path.dirname(os.__file__) + "/evil.py", "w"),
    lambda: os.link(os.__file__, "copy"),
    lambda: open("/proc/self/exe", "r+b"),
)
