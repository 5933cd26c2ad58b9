"""Whether the proxies of the environment can be used: one of SOCKS needs a package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec

from ..errors import InputError

__all__ = ["check_proxies", "socks_variable"]

_NAMES = ("http_proxy", "https_proxy", "all_proxy")


def check_proxies() -> None:
    """Raise an `InputError` where a variable names a proxy that no client could use.

    The clients fail when they are made, for servers on this machine too.
    """
    name = socks_variable(os.environ)
    if name and find_spec("socksio") is None:
        raise InputError(
            f"{name} names a SOCKS proxy, and the package socksio, which it needs, isn't there.",
            "Run: pip install socksio. Or name an HTTP proxy, or unset the variable.",
        )


def socks_variable(environment: Mapping[str, str]) -> str:
    """Return the variable that names a SOCKS proxy; "" for none. Pure."""
    for name, value in environment.items():
        if name.lower() in _NAMES and value.lower().startswith("socks"):
            return name
    return ""
