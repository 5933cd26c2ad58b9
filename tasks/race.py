"""A race: work that stops when other work has made it needless."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["LostError", "race", "run_in_race", "run_until"]

T = TypeVar("T")

_races: dict[str, asyncio.Event] = {}
"""Open races by name. `race` puts them in, called by `flows/attempt.py`. `run_in_race` finds them
in the task runs of subagents and gates: these get a name, since an event can't be among a task
run's parameters."""


class LostError(Exception):
    """Something else came first."""


@contextmanager
def race(name: str) -> Generator[asyncio.Event]:
    """Open a race; the first to set the event wins it."""
    _races[name] = asyncio.Event()
    try:
        yield _races[name]
    finally:
        del _races[name]


async def run_in_race(name: str, work: Coroutine[Any, Any, T]) -> T | None:
    """Await some work; None if the race of that name was won first. No name, no race."""
    if (event := _races.get(name)) is None:
        return await work
    try:
        return await run_until(event, work)
    except LostError:
        return None


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
