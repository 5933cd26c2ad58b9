"""Two ways to the same answer, of which the sooner counts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["sooner_of"]


async def sooner_of(*ways: Coroutine[Any, Any, None]) -> None:
    """Return or raise what the first of some work does; the rest is cancelled, and has ended."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
