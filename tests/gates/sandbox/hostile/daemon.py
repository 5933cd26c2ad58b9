"""Leaves a process that has left its session and its parent."""

import os
import signal

receiving, sending = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        os.write(sending, b"left")
        while True:
            signal.pause()
    os._exit(0)
os.wait()
os.read(receiving, 4)
print("held")
