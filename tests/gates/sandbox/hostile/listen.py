"""Offers a server of its own."""

import socket

from attempt import refused

refused(
    lambda: socket.create_server(("0.0.0.0", 0)),
    lambda: socket.create_server(("127.0.0.1", 0)),
)
