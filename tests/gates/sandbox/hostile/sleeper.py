"""Does nothing for longer than it may."""

import signal

signal.pause()
