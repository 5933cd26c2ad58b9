"""Has the kernel hold memory: connections that were made, filled and never taken."""

import signal
import socket

BLOCK = b"x" * (64 << 10)

listener = socket.socket(socket.AF_UNIX)
listener.bind("/tmp/listener")
listener.listen(4096)
for _ in range(4000):
    with socket.socket(socket.AF_UNIX) as caller:
        caller.setblocking(False)
        try:
            caller.connect("/tmp/listener")
            while True:
                caller.send(BLOCK)
        except OSError:
            continue
signal.pause()
