"""Requests to this machine itself never go through a proxy.

All clients read the proxies' variables: Prefect's, the providers', those of MCP servers, and of the
websockets. Where a variable names a proxy and `NO_PROXY` doesn't name this machine, they would ask
the proxy for a server on 127.0.0.1, and what answers is the proxy's own machine, or nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from ipaddress import IPv6Network

__all__ = ["keep_loopback_direct", "no_proxy_variables"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# The clients read the lower case first, other programs the upper case.
_NAMES = ("no_proxy", "NO_PROXY")


def keep_loopback_direct() -> None:
    """Have this process, and those that it starts, ask servers on this machine directly."""
    extend(os.environ)


def extend(environment: MutableMapping[str, str]) -> None:
    """Write the variables that have to change."""
    for name, value in no_proxy_variables(environment).items():
        if environment.get(name) != value:
            environment[name] = value


def no_proxy_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what `no_proxy` and `NO_PROXY` have to be; nothing where they may stay. Pure.

    Entries that are there stay, in the form that the clients can read.
    """
    present = {name: environment[name] for name in _NAMES if environment.get(name)}
    proxied = any(map(_names_proxy, environment.items()))
    if not proxied:
        # Alone, the variable would hide the proxies that macOS and Windows have in their settings.
        return {name: _joined(_readable(value)) for name, value in present.items()}
    given = dict.fromkeys(_NAMES, "") | present
    if len(present) == 1:
        given = dict.fromkeys(_NAMES, *present.values())
    return {name: _joined([*_readable(value), *_LOOPBACK]) for name, value in given.items()}


def _names_proxy(variable: tuple[str, str]) -> bool:
    name, value = variable
    return name.lower().endswith("_proxy") and name.lower() != "no_proxy" and bool(value)


def _readable(value: str) -> list[str]:
    """Return the entries as httpx can read them: it fails for all addresses on some of IPv6."""
    return [entry for each in value.split(",") if (entry := _plain(each.strip()))]


def _plain(entry: str) -> str:
    """Take an IPv6 address out of its brackets; "" for a range of them, which httpx can't have."""
    if entry.startswith("[") and "]" in entry:
        address, _, after = entry[1:].partition("]")
        entry = f"{address}{after}" if after.startswith("/") else address
    if entry.count(":") > 1 and "/" in entry:
        try:
            alone = IPv6Network(entry, strict=False).num_addresses == 1
        except ValueError:
            return ""
        return entry.partition("/")[0] if alone else ""
    return entry


def _joined(entries: list[str]) -> str:
    return "*" if "*" in entries else ",".join(dict.fromkeys(entries))
