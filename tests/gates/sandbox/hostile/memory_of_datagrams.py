"""Has the kernel hold memory: datagrams whose senders are gone, in few sockets."""

import os
import signal
import socket

BLOCK = b"x" * (128 << 10)

for number in range(8):
    if os.fork() == 0:
        kept: list[socket.socket] = []
        for _ in range(24):
            receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            receiver.bind(f"/tmp/{number}.{len(kept)}")
            kept.append(receiver)
            for _ in range(16):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                    sender.setblocking(False)
                    try:
                        sender.sendto(BLOCK, receiver.getsockname())
                    except OSError:
                        break
        signal.pause()
signal.pause()
