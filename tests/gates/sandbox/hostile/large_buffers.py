"""Has the kernel hold more in its buffers than it does unasked."""

import contextlib
import fcntl
import os
import socket

from attempt import refused

ours, theirs = socket.socketpair()
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    with contextlib.suppress(OSError):
        ours.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
    if ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) > before:
        print("grew:", option)
pipe, _ = os.pipe()
refused(lambda: fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20))
