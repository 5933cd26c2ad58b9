"""Ends while children fork children."""

import os

for _ in range(4):
    if os.fork() == 0:
        while True:
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                continue
print("held")
