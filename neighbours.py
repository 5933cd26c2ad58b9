"""What else computes in this process or for it, announced so that a local model makes room.

A local model that computes on every core beside anything that computes, too, is slower than one
with a core less: its threads wait for each other after every layer.

Engines of this process that compute at once don't announce each other: on 2 cores two of them took
the same processor time with 2 threads each as with 1 (6.6 and 6.5 s), and with 1 they get less of
the cores beside others.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["announced", "computing"]

_lock = threading.Lock()
_count = 0


@contextmanager
def computing(cores: int = 1) -> Generator[None]:
    """Announce that the code inside, or a program that it waits for, keeps `cores` cores busy."""
    _add(cores)
    try:
        yield
    finally:
        _add(-cores)


def announced() -> int:
    """Return the cores that are announced as busy now."""
    return _count


def _add(cores: int) -> None:
    global _count
    with _lock:
        _count += cores


def _reset_after_fork() -> None:
    """In a forked child: nothing of the parent's runs in it, and the lock may have been held."""
    global _lock, _count
    _lock = threading.Lock()
    _count = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
