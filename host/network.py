"""Proxies, loopback addresses and certificates of this machine."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterator, Mapping, MutableMapping
from importlib.util import find_spec
from ipaddress import IPv6Network
from urllib.parse import urlsplit

from ..errors import InputError

__all__ = [
    "CA_FIX",
    "PREFECT_CA_FIX",
    "certificate_problem",
    "check_ca_files",
    "check_proxies",
    "host_name",
    "is_loopback",
    "keep_loopback_direct",
    "no_proxy_variables",
    "socks_variable",
    "unreadable_variable",
]


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# The clients read the lower case first, other programs the upper case.
_NO_PROXY_NAMES = ("no_proxy", "NO_PROXY")


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
    present = {name: environment[name] for name in _NO_PROXY_NAMES if environment.get(name)}
    proxied = any(map(_names_proxy, environment.items()))
    if not proxied:
        # Alone, the variable would hide the proxies that macOS and Windows have in their settings.
        return {name: _joined(_readable(value)) for name, value in present.items()}
    variables = dict.fromkeys(_NO_PROXY_NAMES, "") | present
    if len(present) == 1:
        variables = dict.fromkeys(_NO_PROXY_NAMES, *present.values())
    return {name: _joined([*_readable(value), *_LOOPBACK]) for name, value in variables.items()}


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


_PROXY_NAMES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https", "socks5", "socks5h")


def check_proxies() -> None:
    """Raise an `InputError` where a variable names a proxy that no client could use.

    The clients fail when they are made, for servers on this machine too.
    """
    if name := unreadable_variable(os.environ):
        raise InputError(
            f"{name} is not an address of a proxy.",
            f"Write it so: {name}=http://proxy.example:3128.",
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
        if name.lower() in _PROXY_NAMES and value and not _is_address(value):
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
        if name.lower() in _PROXY_NAMES and value.lower().startswith("socks"):
            return name
    return ""


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


CA_FIX = (
    "If a CA of your own signed it, set SSL_CERT_FILE to a PEM file with that CA's certificate, "
    "and with the public ones if you need them. REQUESTS_CA_BUNDLE isn't read."
)
PREFECT_CA_FIX = (
    "If a CA of your own signed it, set PREFECT_API_SSL_CERT_FILE, for Prefect alone, or "
    "SSL_CERT_FILE, for all servers, to a PEM file with that CA's certificate."
)
_MARK = "CERTIFICATE_VERIFY_FAILED"


def check_ca_files(environment: Mapping[str, str]) -> None:
    """Raise an `InputError` where a variable names a file whose certificates can't be read.

    The clients fail when they are made, and say neither which file nor which variable.
    """
    for name in _VARIABLES:
        if path := environment.get(name):
            try:
                ssl.create_default_context(cafile=path)
            except OSError as error:
                why = "it has no certificate" if isinstance(error, ssl.SSLError) else error.strerror
                raise InputError(
                    f"{name} names {path}, which can't be read: {why}.",
                    "Name a PEM file with certificates, or unset it.",
                ) from None


_VARIABLES = ("SSL_CERT_FILE", "PREFECT_API_SSL_CERT_FILE")


def certificate_problem(error: BaseException) -> str:
    """Return why a certificate wasn't accepted, if that is what an error is about; else ""."""
    for each in _causes(error, set()):
        if isinstance(each, ssl.SSLCertVerificationError):
            return each.verify_message or "it can't be verified"
        if _MARK in str(each):
            return str(each).partition(f"{_MARK}]")[2].partition(" (_ssl.c")[0].strip(" :")
    return ""


def _causes(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """The error, what it was raised from, and what a group holds; from the innermost outwards."""
    if id(error) in seen:
        return
    seen.add(id(error))
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _causes(each, seen)  # pyright: ignore[reportUnknownArgumentType]
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            yield from _causes(cause, seen)
    yield error
