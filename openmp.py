"""Processors that are shared: how OpenMP's threads wait, and what else computes in this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["announced", "computing", "sleeping_threads"]


_WAITING = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "1000"}


@contextmanager
def sleeping_threads() -> Generator[None]:
    """Import what computes with OpenMP within this: it reads the settings once, when it is loaded.

    If the user has set one of them, nothing is changed.
    """
    ours = not any(name in os.environ for name in _WAITING)
    if ours:
        os.environ.update(_WAITING)
    try:
        yield
    finally:
        if ours:
            # Child processes must not inherit our choice.
            for name in _WAITING:
                os.environ.pop(name, None)


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
