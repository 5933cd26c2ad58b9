"""Asks for a name."""

import socket

from attempt import refused

refused(
    lambda: socket.getaddrinfo("example.org", 80),
    lambda: socket.gethostbyname("example.org"),
)
