"""A resource for each thread and process, such as a database connection."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["PerThread"]

_T = TypeVar("_T")

# Resources of the process that this one was forked from; only `PerThread.get` adds them. Kept here
# so that they are never finalized: closing them in the child could harm the parent.
_inherited: list[object] = []


class _ThreadResource(Generic[_T]):
    """A resource that is closed when its thread ends."""

    def __init__(self, resource: _T, close: Callable[[_T], None]) -> None:
        self.resource = resource
        self.pid = os.getpid()
        self._close = close

    def close(self) -> None:
        if self.pid == os.getpid():
            self._close(self.resource)

    def __del__(self) -> None:
        self.close()


class PerThread(Generic[_T]):
    """Opens a resource for each thread that asks; closes it when the thread ends, or all at once.

    Args:
        open_resource: Opens a resource.
        close_resource: Closes a resource, from any thread; may be called twice.
    """

    def __init__(
        self, open_resource: Callable[[], _T], close_resource: Callable[[_T], None]
    ) -> None:
        self._open = open_resource
        self._close = close_resource
        self._local = threading.local()
        self._all: weakref.WeakSet[_ThreadResource[_T]] = weakref.WeakSet()
        self.closed = False

    def get(self) -> _T:
        """Return this thread's resource."""
        held: _ThreadResource[_T] | None = getattr(self._local, "held", None)
        if held is not None and held.pid == os.getpid():
            return held.resource
        if held is not None:
            _inherited.append(held)
            self._all.discard(held)
        self._local.held = held = _ThreadResource(self._open(), self._close)
        self._all.add(held)
        return held.resource

    def drop(self) -> None:
        """Close this thread's resource; the next `get` opens another."""
        self._local.held = None

    def close(self) -> None:
        """Close the resources of all threads of this process."""
        self.closed = True
        for held in list(self._all):
            held.close()
