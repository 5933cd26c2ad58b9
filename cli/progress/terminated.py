"""SIGTERM as an exception. Nothing is imported: it has to be in place before what takes time."""

from __future__ import annotations

__all__ = ["Terminated", "terminate"]


class Terminated(KeyboardInterrupt):
    """SIGTERM came: to everything on the way it is what Ctrl-C is."""


def terminate(_number: int, _frame: object) -> None:
    """Be the handler of SIGTERM where no run is under way."""
    raise Terminated
