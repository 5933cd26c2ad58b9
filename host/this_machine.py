"""Whether what a request names as its host is this machine and nothing but it. Pure."""

from __future__ import annotations

import ipaddress

__all__ = ["host_name", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nothing but it."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def host_name(header: str) -> str:
    """Return the host of a `Host` header, without its port.

    A page that has a name of its own lead here (DNS rebinding) can't have the browser send another.
    """
    return header.rpartition(":")[0] if not header.endswith("]") and ":" in header else header
