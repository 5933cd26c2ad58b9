"""Computes without end, a little in each of many processes."""

import os

while True:
    if os.fork() == 0:
        for _ in range(2_000_000):
            pass
        os._exit(0)
    if os.fork() == 0:
        for _ in range(2_000_000):
            pass
        os._exit(0)
    os.wait()
    os.wait()
