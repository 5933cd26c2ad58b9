"""How many calls go to a server at once, over all attempts of an event loop."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

__all__ = ["turn_at"]

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, int], asyncio.Semaphore]] = (
    WeakKeyDictionary()
)


def turn_at(server: str, at_once: int) -> asyncio.Semaphore:
    """Return what a call to a server has to hold while it is made."""
    turns = _turns.setdefault(asyncio.get_running_loop(), {})
    return turns.setdefault((server, at_once), asyncio.Semaphore(at_once))
