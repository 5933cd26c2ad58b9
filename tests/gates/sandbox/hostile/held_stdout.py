"""Ends while a child still holds the streams."""

import os
import signal

if os.fork() == 0:
    signal.pause()
print("held")
