"""Looks for descriptors that it inherited."""

import os

found: dict[int, str] = {}
for number in range(3, 64):
    try:
        found[number] = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        continue
# Listing opens nothing here, so there are the three streams and nothing else.
print("held" if not found and not os.isatty(0) else found)
