"""Computes three times what it may, a little in each of many processes that are not waited for."""

import os
import signal
import time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(200):
    if os.fork() == 0:
        while time.process_time() < 0.015:
            pass
        os._exit(0)
    try:
        os.wait()
    except OSError:
        continue
