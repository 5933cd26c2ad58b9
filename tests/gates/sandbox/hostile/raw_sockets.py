"""Opens sockets of every family that goes beyond the process."""

import socket

from attempt import refused

refused(
    lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
    lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET),
    lambda: socket.socketpair(socket.AF_INET),
)
