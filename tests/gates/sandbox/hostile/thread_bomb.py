"""Starts threads without end."""

import threading

started = 0
stop = threading.Event()
try:
    while started < 200:
        threading.Thread(target=stop.wait, daemon=True).start()
        started += 1
except RuntimeError:
    print("held" if started < 32 else started)
