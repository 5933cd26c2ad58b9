"""What `doctor` says of who may approve by the Prefect server: whoever reaches its API. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...flows.temporary_server.reaching import Opening
from .check import Check

__all__ = ["check_access"]

_FIX = (
    "Set a login, user:password, as PREFECT_SERVER_API_AUTH_STRING where it starts and as "
    "PREFECT_API_AUTH_STRING where it is used. Or put a proxy with a login before it, and keep "
    "others off its network (docs/how-to/approval.md)."
)
_PAGES = ", and so may any web page in a browser there"


def check_access(opening: Opening | None) -> Iterable[Check]:
    """Say whom a server lets in; nothing where that isn't known."""
    if opening is None:
        return
    if not opening.to_all:
        detail = "it asks for a login; whoever has that may read runs and approve"
        yield Check("server access", "ok", detail)
        return
    detail = "it asks for no login: whoever reaches its API may read runs and approve"
    pages = _PAGES if opening.to_pages else ""
    yield Check("server access", "warn", f"{detail}{pages}", _FIX)
