"""Takes memory in processes that may not be looked at."""

import os
import signal

from attempt import call

for _ in range(8):
    if os.fork() == 0:
        call("prctl", 4, 0, 0, 0, 0)
        os.setsid()
        taken = bytearray(b"x" * (40 << 20))
        signal.pause()
signal.pause()
