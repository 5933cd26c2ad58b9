"""Work in a forked process, which may be killed in its middle, and what it told until then."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["told_by_fork"]


def told_by_fork(work: Callable[[Callable[[str], None]], None]) -> list[str]:
    """Run work in a process of its own, which may end at any moment; return the lines it told.

    Args:
        work: Gets what a line is told with. An exception ends the process without a word.
    """
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.close(reading)
            work(lambda line: _write(writing, line))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        lines = file.read().splitlines()
    os.waitpid(child, 0)
    return lines


def _write(descriptor: int, line: str) -> None:
    os.write(descriptor, f"{line}\n".encode())
