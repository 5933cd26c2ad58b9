"""A finding of `doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...flows.prefect_io.server_access import Opening

__all__ = ["Check", "check_access"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `fix` says what to do where it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


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
        detail = "it asks for a login; anyone who has it may read runs and approve"
        yield Check("server access", "ok", detail)
        return
    detail = "it asks for no login: anyone who reaches its API may read runs and approve"
    pages = _PAGES if opening.to_pages else ""
    yield Check("server access", "warn", f"{detail}{pages}", _FIX)
