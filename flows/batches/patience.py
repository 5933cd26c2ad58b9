"""Repeat what a server didn't take for now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx
from prefect.exceptions import PrefectHTTPStatusError

from ...errors import ServerError
from ...text import one_line

__all__ = ["PAUSES_S", "is_passing", "patiently"]

T = TypeVar("T")

PAUSES_S = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds before each repetition; Prefect's client has repeated each request for a minute then."""
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})

_logger = logging.getLogger("prefect_swarm.runs")


def is_passing(error: BaseException) -> bool:
    """Say whether the server may take it later: it is away or busy, or its database is locked."""
    if isinstance(error, ServerError) and isinstance(error.__cause__, PrefectHTTPStatusError):
        # What it refuses for want of a login it refuses the next time, too.
        error = error.__cause__
    if isinstance(error, PrefectHTTPStatusError):
        return error.response.status_code in _BUSY
    # Prefect's client raises a RuntimeError when it can't connect at all.
    is_away = isinstance(error, RuntimeError) and "reach API" in str(error)
    return is_away or isinstance(error, httpx.TransportError | ServerError)


async def patiently(
    work: Callable[[], Awaitable[T]],
    may_repeat: Callable[[], bool] = lambda: True,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Do some work, once more after a pause where the server didn't take it.

    Args:
        work: What is to be done.
        may_repeat: Whether nothing of it has been done yet.
        pause: Passes some seconds.
    """
    for seconds in PAUSES_S:
        try:
            return await work()
        except Exception as error:
            if not is_passing(error) or not may_repeat():
                raise
            why = one_line(str(error) or repr(error), 200)
            _logger.warning("The Prefect server doesn't answer; again in %.0f s. %s", seconds, why)
        await pause(seconds)
    return await work()
