"""Connects to a server of this machine."""

import socket

from attempt import outside, refused

refused(
    lambda: socket.create_connection(("127.0.0.1", int(outside["port"])), 2),
    lambda: socket.create_connection(("::1", int(outside["port"])), 2),
    lambda: socket.create_connection(("192.0.2.1", 80), 2),
)
