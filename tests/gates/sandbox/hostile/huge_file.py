"""Makes a file larger than the disk, with nothing in it."""

import os

with open("huge", "wb") as file:
    try:
        os.truncate(file.fileno(), 1 << 40)
    except OSError:
        print("held")
