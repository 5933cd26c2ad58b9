"""Changes what it sees of the machine's devices."""

import os
import shutil

from attempt import refused

NAMES = ("null", "zero", "full", "random", "urandom")

refused(
    *(lambda name=name: os.utime(f"/dev/{name}") for name in NAMES),
    *(lambda name=name: os.utime(f"/dev/{name}", (1, 1)) for name in NAMES),
    *(lambda name=name: os.chmod(f"/dev/{name}", 0o600) for name in NAMES),
    *(lambda name=name: os.setxattr(f"/dev/{name}", "user.x", b"x") for name in NAMES),
    *(lambda name=name: os.rename(f"/dev/{name}", "/dev/x") for name in NAMES),
    lambda: shutil.chown("/dev/null", os.getuid()),
)
