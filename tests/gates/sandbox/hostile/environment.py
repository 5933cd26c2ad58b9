"""Looks for secrets in the environment."""

import os
import subprocess

seen = (
    " ".join(os.environ.values())
    + subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
)
print("held" if "hunter2" not in seen and "PREFECT" not in " ".join(os.environ) else seen)
