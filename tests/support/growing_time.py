"""How the time of some work grows with what it is given."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time

__all__ = ["growth"]

_TRIES = 6


def growth(work: Callable[[int], object], size: int, below: float = 6.0) -> float:
    """Return how much longer four times as much takes: 4 where it is linear, 16 where quadratic.

    It is the time of this thread alone: what else the machine does counts for nothing. What is
    not below what it should be is measured again.
    """
    work(size)  # what is made once, and cold caches, would make the first one look slow
    short, long = min(_time(work, size), _time(work, size)), _time(work, 4 * size)
    for _ in range(_TRIES - 1):
        if long < below * short:
            break
        short, long = min(short, _time(work, size)), min(long, _time(work, 4 * size))
    return long / short


def _time(work: Callable[[int], object], size: int) -> float:
    is_collecting = gc.isenabled()
    gc.disable()  # it may take longer than the work, and is no doing of the work
    try:
        began = thread_time()
        work(size)
        return thread_time() - began
    finally:
        if is_collecting:
            gc.enable()
