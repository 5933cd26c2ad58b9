"""Signals processes of the machine by the numbers they have there."""

import os

from attempt import outside, refused

refused(
    lambda: os.kill(int(outside["pid"]), 9),
    lambda: os.kill(int(outside["pid"]), 0),
    lambda: os.killpg(int(outside["pid"]), 9),
    lambda: os.pidfd_open(int(outside["pid"])),
)
