"""Whether the proxies of the environment can be used: each is an address, and SOCKS needs more."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from ..errors import InputError

__all__ = ["check_proxies", "socks_variable", "unreadable_variable"]

_NAMES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https", "socks5", "socks5h")


def check_proxies() -> None:
    """Raise an `InputError` where a variable names a proxy that no client could use.

    The clients fail when they are made, for servers on this machine too.
    """
    if name := unreadable_variable(os.environ):
        raise InputError(
            f"{name} is no address of a proxy.", f"Write it so: {name}=http://proxy.example:3128."
        )
    name = socks_variable(os.environ)
    if name and find_spec("socksio") is None:
        raise InputError(
            f"{name} names a SOCKS proxy, and the package socksio, which it needs, isn't there.",
            "Run: pip install socksio. Or name an HTTP proxy, or unset the variable.",
        )


def unreadable_variable(environment: Mapping[str, str]) -> str:
    """Return the variable whose proxy no client can read; "" for none. Pure."""
    for name, value in environment.items():
        if name.lower() in _NAMES and value and not _is_address(value):
            return name
    return ""


def _is_address(text: str) -> bool:
    try:
        found = urlsplit(text if "://" in text else f"http://{text}")
        found.port  # noqa: B018 - it is only read here
    except ValueError:
        return False
    return found.scheme in _SCHEMES and bool(found.hostname)


def socks_variable(environment: Mapping[str, str]) -> str:
    """Return the variable that names a SOCKS proxy; "" for none. Pure."""
    for name, value in environment.items():
        if name.lower() in _NAMES and value.lower().startswith("socks"):
            return name
    return ""
