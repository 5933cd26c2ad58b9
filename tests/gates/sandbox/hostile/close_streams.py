"""Closes its streams and goes on."""

import os

os.closerange(0, 3)
os._exit(7)
