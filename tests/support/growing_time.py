"""How the time of some work grows with what it is given."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time

__all__ = ["growth"]


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how much longer four times as much takes: 4 where it is linear, 16 where quadratic.

    It is the time of this thread alone: what else the machine does counts for nothing.
    """
    return _least(work, 4 * size) / _least(work, size)


def _least(work: Callable[[int], object], size: int) -> float:
    times: list[float] = []
    for _ in range(3):
        gc.collect()
        began = thread_time()
        work(size)
        times.append(thread_time() - began)
    return min(times)
