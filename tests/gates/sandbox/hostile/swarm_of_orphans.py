"""Ends while children fork children."""

import os

for _ in range(4):
    if os.fork() == 0:
        for _ in range(100_000):
            try:
                if os.fork():
                    os._exit(0)
            except OSError:
                continue
        os._exit(0)
print("held")
