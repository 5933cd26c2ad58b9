"""Forks without end, or nearly: it must do no harm where it isn't held."""

import os
import signal

count = os.open("count", os.O_CREAT | os.O_RDWR | os.O_APPEND)
while True:
    try:
        if os.fork() == 0:
            os.write(count, b"x")
    except OSError:
        continue
    if os.fstat(count).st_size > 300:
        print("went through", flush=True)
        signal.pause()
