"""Who may ask the server."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError
from ..host.this_machine import host_name, is_loopback
from .api_errors import ApiError

__all__ = ["Access", "access_for"]

_OPEN = ("/health", "/engine/proof")


@dataclass(frozen=True)
class Access:
    """What a request has to show.

    Attributes:
        token: What processes of this machine have from the server's record, for `/engine`.
        key: What all others have to send; None where only this machine can connect.
    """

    token: str
    key: str | None = None

    def check(self, path: str, headers: Mapping[str, str]) -> None:
        """Refuse a request that may not be answered.

        Raises:
            ApiError: It shows no key, or a wrong one, or is for another host.
        """
        if path in _OPEN:
            return
        wanted = self.token if path.startswith("/engine/") else self.key
        if wanted is None:
            _require_loopback(headers.get("host", ""))
            return
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            given = ""
        if not hmac.compare_digest(given.strip().encode(), wanted.encode()):
            raise ApiError(
                "The key is wrong." if given else "The request has no key.",
                "Send the server's key: Authorization: Bearer KEY.",
                401,
                "invalid_api_key",
            )


def access_for(host: str, token: str, variable: str | None, key: str | None) -> Access:
    """Decide what requests have to show.

    Args:
        host: The address that the server listens on.
        token: The token of its record.
        variable: The environment variable that names the key.
        key: Its value; None if it is not set.

    Raises:
        InputError: There is no key, and there has to be.
    """
    if variable is not None and not key:
        raise InputError(
            f"The environment variable {variable} is not set, or empty.",
            f"Set {variable} to the key that clients have to send.",
        )
    if variable is None and not is_loopback(host):
        raise InputError(
            f"The host {host} can be reached from other machines, so a key is needed.",
            "Name the environment variable that has it: --key-env VARIABLE, or leave --host out.",
        )
    return Access(token, key if variable is not None else None)


def _require_loopback(host: str) -> None:
    """Refuse what a page in a browser sends by way of a name of its own that leads here."""
    name = host_name(host)
    if not is_loopback(name):
        raise ApiError(
            f"The request is for the host {name!r}.",
            "Ask for 127.0.0.1 or localhost, or start the server with --key-env.",
            403,
            "wrong_host",
        )
