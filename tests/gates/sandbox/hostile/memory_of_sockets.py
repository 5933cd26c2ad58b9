"""Has the kernel hold memory: what is written to sockets and never read."""

import os
import signal
import socket

BLOCK = b"x" * (64 << 10)
kept: list[socket.socket] = []


def fill() -> None:
    """Fill as many as this process may have."""
    while True:
        try:
            pair = socket.socketpair()
        except OSError:
            return
        kept.extend(pair)
        for end in pair:
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            try:
                while True:
                    end.send(BLOCK)
            except OSError:
                continue


for _ in range(24):
    if os.fork() == 0:
        fill()
        signal.pause()
signal.pause()
