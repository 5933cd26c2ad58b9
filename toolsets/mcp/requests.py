"""What the owner of a server is asked, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CallRequest", "ListRequest", "ServerRequest", "refuse", "resolve"]


@dataclass(frozen=True, slots=True, eq=False)
class ServerRequest:
    """A request, and where its outcome goes.

    Attributes:
        seconds: How long it may take from when the server gets it.
        outcome: Cancelled by whoever asked if they no longer want it.
    """

    seconds: float
    outcome: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(frozen=True, slots=True, eq=False)
class ListRequest(ServerRequest):
    """Asks for the tools."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CallRequest(ServerRequest):
    """Asks for a call of a tool, by its server's name for it."""

    tool: str
    arguments: Mapping[str, Any]


def resolve(request: ServerRequest, value: object) -> None:
    """Answer a request, if somebody still waits."""
    if not request.outcome.done():
        request.outcome.set_result(value)


def refuse(request: ServerRequest, error: Exception) -> None:
    """Let a request fail, if somebody still waits."""
    if not request.outcome.done():
        request.outcome.set_exception(error)
