"""Connects to sockets of the machine that have no address on the network."""

import socket

from attempt import outside, refused

refused(
    lambda: socket.socket(socket.AF_UNIX).connect("\0" + outside["abstract"]),
    lambda: socket.socket(socket.AF_UNIX).connect(outside["unix"]),
    lambda: socket.socket(socket.AF_UNIX).connect("/run/docker.sock"),
)
