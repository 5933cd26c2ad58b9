"""Signals what it was started by."""

import os
import signal

print(os.getppid())
os.kill(os.getppid(), signal.SIGKILL)
os.kill(os.getppid(), signal.SIGTERM)
print("held")
