"""Runs a setuid program and a file that it makes setuid."""

import os
import shutil
import subprocess
from pathlib import Path

copy = shutil.copy("/usr/bin/id", "/tmp/id")
os.chmod(copy, 0o6755)
found = {subprocess.run([copy, "-u"], capture_output=True, text=True, check=True).stdout.strip()}
for path in ("/usr/bin/su", "/bin/mount"):
    if Path(path).exists():
        done = subprocess.run(
            [path, "-c", "id"], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        found.add("0" if "uid=0" in done.stdout else "1000")
print("held" if found == {"1000"} else found)
