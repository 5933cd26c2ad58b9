"""How the time of a call grows with what it is called with."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import thread_time_ns

__all__ = ["grows_faster", "growth"]

_LINEAR = 8  # four times the text takes a linear reader four times as long, a quadratic one 16
_TRIES = 5
_BEYOND_DOUBT = 1_000_000_000  # nanoseconds: longer than the host of a machine takes it away
_TOO_SHORT = 100_000  # nanoseconds: a clock that moves in steps shows no growth in less


def grows_faster(call: Callable[[int], Callable[[], object]], size: int) -> str:
    """Return how the time grew if it grew faster than the size, and "" otherwise.

    Only times of this thread are compared with each other, so another machine, or a busy one,
    comes to the same.

    Args:
        call: Prepares a call for a size: what it prepares is not timed.
        size: The size to begin with.
    """
    for short, long, most in ((10, 20, 24), (20, 40, 30), (size // 8, size // 2, 30)):
        # What grows much faster is found with little text, and would take hours with more.
        ratio, is_seen = _growth(call, short, long, most)
        if ratio > most and is_seen:
            return f"from {short:,} to {long:,} characters the time grew {ratio:.0f}fold"
    # At one size alone it may be the processor's caches, or what is looked at in a bounded piece.
    found = ""
    for short in (size, 2 * size, 4 * size):
        ratio, is_seen = _growth(call, short, 4 * short, _LINEAR)
        if ratio <= _LINEAR:
            return ""
        if is_seen:
            found = f"from {short:,} to {4 * short:,} characters the time grew {ratio:.0f}fold"
    return found


def growth(work: Callable[[int], object], size: int, below: float = 6.0) -> float:
    """Return how much longer four times as much takes: 4 where it is linear, 16 where quadratic.

    It is the time of this thread alone: what else the machine does counts for nothing. What is
    not below what it should be is measured again.
    """
    work(size)  # what is made once, and cold caches, would make the first one look slow
    ratio, _ = _growth(lambda count: partial(work, count), size, 4 * size, below)
    return ratio


def _growth(
    call: Callable[[int], Callable[[], object]], short: int, long: int, most: float
) -> tuple[float, bool]:
    """Return how many times as long the longer one takes, and whether a clock can show it."""
    short_call, long_call = call(short), call(long)
    short_ns, long_ns = _time(short_call), _time(long_call)
    for _ in range(_TRIES):
        if long_ns <= most * short_ns or long_ns > _BEYOND_DOUBT:
            break
        short_ns = max(1, min(short_ns, _time(short_call)))
        long_ns = min(long_ns, _time(long_call))
    return long_ns / max(1, short_ns), long_ns >= _TOO_SHORT


def _time(call: Callable[[], object]) -> int:
    is_collecting = gc.isenabled()
    gc.disable()  # it may take longer than the call, and is not a doing of the call
    try:
        began = thread_time_ns()
        call()
        return thread_time_ns() - began
    finally:
        if is_collecting:
            gc.enable()
