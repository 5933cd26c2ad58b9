"""What to do about a server whose certificate this machine doesn't know. Pure.

Tried with Prefect's client, with those of the providers and of MCP servers: all read SSL_CERT_FILE,
and none reads REQUESTS_CA_BUNDLE. Prefect's client alone reads PREFECT_API_SSL_CERT_FILE as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator

__all__ = ["CA_FIX", "PREFECT_CA_FIX", "certificate_problem"]

CA_FIX = (
    "If a CA of your own signed it, set SSL_CERT_FILE to a PEM file with that CA's certificate, "
    "and with the public ones if you need them. REQUESTS_CA_BUNDLE isn't read."
)
PREFECT_CA_FIX = (
    "If a CA of your own signed it, set PREFECT_API_SSL_CERT_FILE, for Prefect alone, or "
    "SSL_CERT_FILE, for all servers, to a PEM file with that CA's certificate."
)
_MARK = "CERTIFICATE_VERIFY_FAILED"


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
