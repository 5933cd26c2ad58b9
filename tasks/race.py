"""A race: work that stops when other work has made it needless."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LostError", "run_until"]

T = TypeVar("T")


class LostError(Exception):
    """Something else came first."""


async def run_until(event: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """Await some work, and stop it when the event is set first.

    Raises:
        LostError: It was.
    """
    task = asyncio.create_task(work)
    over = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
    finally:
        over.cancel()
        task.cancel()
        await asyncio.gather(task, over, return_exceptions=True)
    raise LostError
