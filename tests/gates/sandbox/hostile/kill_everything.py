"""Kills everything that it may signal, PID 1 by name."""

import contextlib
import os
import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSTOP, signal.SIGKILL, signal.SIGSEGV):
    os.kill(1, number)
with contextlib.suppress(ProcessLookupError):
    os.kill(-1, signal.SIGKILL)
print("held")
