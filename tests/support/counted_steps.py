"""Work is counted in lines of Python: the same on each machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["steps_of"]


def steps_of(work: Callable[[], object]) -> int:
    """Do some work, and return how many lines of Python it took."""
    count = 0

    def trace(_: object, event: str, __: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
