"""What to do about a server whose certificate this machine doesn't know.

Tried with Prefect's client, with those of the providers and of MCP servers: all read SSL_CERT_FILE,
and none reads REQUESTS_CA_BUNDLE. Prefect's client alone reads PREFECT_API_SSL_CERT_FILE as well.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping

from ..errors import InputError

__all__ = ["CA_FIX", "PREFECT_CA_FIX", "certificate_problem", "check_ca_files"]

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
