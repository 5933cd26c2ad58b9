"""The memory that loaded models share: an engine enters before it loads, and leaves after that.

Engines that wait are served in the order they came. An engine that is asked to leave ends the
requests that it has and takes no new ones before it has left and entered again, so each of two
engines that need the other's memory gets its turn.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ....errors import ModelError
from .budget import BUDGET_VARIABLE, memory_budget
from .unloading import MemoryUse, Resident, bytes_of, fits_alone, to_unload

__all__ = ["MemoryUser", "ModelMemory", "gigabytes", "model_memory"]


@dataclass(eq=False)
class MemoryUser:
    """An engine as the memory knows it; after `enter` only `ModelMemory` changes it.

    Attributes:
        ask_to_leave: Has the engine unload as soon as it has ended its requests. It is called from
            any thread and must not wait.
        gave_up: Whether the engine no longer wants to be loaded.
    """

    name: str
    file: Hashable
    use: MemoryUse
    ask_to_leave: Callable[[], None]
    gave_up: Callable[[], bool] = lambda: False
    pinned: bool = False
    busy: bool = False
    last_used: float = 0.0
    leaving: bool = False

    def as_resident(self) -> Resident:
        """Return how it is now."""
        return Resident(
            self.name, self.file, self.use, self.busy, self.last_used, self.pinned, self.leaving
        )


class ModelMemory:
    """Who holds memory, and who waits for it. Its methods may be called from any thread."""

    def __init__(
        self, budget: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with nobody.

        Args:
            budget: Gives the bytes that all may take together; asked each time somebody enters.
            clock: Seconds, for who was used last.
        """
        self._budget = budget
        self._clock = clock
        self._changed = threading.Condition()
        self._loaded: list[MemoryUser] = []
        self._waiting: deque[MemoryUser] = deque()

    def enter(self, user: MemoryUser) -> bool:
        """Wait until there is room, having others unloaded where needed.

        Returns:
            False if the engine gave up meanwhile.

        Raises:
            InputError: The setting for the budget can't be read.
            ModelError: It doesn't fit even alone.
        """
        budget = self._budget()
        if not fits_alone(user.as_resident(), budget):
            raise _too_large(user, budget)
        with self._changed:
            self._waiting.append(user)
            try:
                while not user.gave_up():
                    if self._waiting[0] is user and self._make_room(user, budget):
                        user.busy, user.leaving = True, False
                        self._loaded.append(user)
                        return True
                    self._changed.wait()
                return False
            finally:
                self._waiting.remove(user)
                self._changed.notify_all()

    def leave(self, user: MemoryUser) -> None:
        """Give back the memory; it is free already."""
        with self._changed:
            self._loaded.remove(user)
            self._changed.notify_all()

    def wake(self) -> None:
        """Have those that wait look again whether they gave up."""
        with self._changed:
            self._changed.notify_all()

    def mark(self, user: MemoryUser, *, busy: bool) -> None:
        """Note whether the engine has requests."""
        with self._changed:
            user.busy = busy
            user.last_used = self._clock()

    def correct(self, user: MemoryUser, measured: MemoryUse) -> None:
        """Replace the estimate by what was measured; it holds for the next time, too."""
        with self._changed:
            user.use = measured

    def residents(self) -> list[Resident]:
        """Return those that are loaded."""
        with self._changed:
            return [user.as_resident() for user in self._loaded]

    def _make_room(self, user: MemoryUser, budget: int) -> bool:
        residents = [other.as_resident() for other in self._loaded]
        chosen = to_unload(residents, user.as_resident(), budget)
        for place in chosen:
            other = self._loaded[place]
            if not other.leaving:
                other.leaving = True
                other.ask_to_leave()
        return not chosen


def gigabytes(size: int) -> str:
    """Write bytes as people read them."""
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size / 1e6:.0f} MB"


def _too_large(user: MemoryUser, budget: int) -> ModelError:
    needed, weights, own = bytes_of([user.as_resident()]), *user.use
    return ModelError(
        f"The model {user.name} needs {gigabytes(needed)} of memory ({gigabytes(weights)} for its "
        f"weights, {gigabytes(own)} for its context), but all local models together may take "
        f"{gigabytes(budget)}.",
        "Take a smaller file, a smaller n_ctx, fewer n_slots or the cache_type q8_0; or set "
        f"{BUDGET_VARIABLE} to the gigabytes that this machine can spare.",
    )


_memory = ModelMemory(memory_budget)


def model_memory() -> ModelMemory:
    """Return the memory of this process."""
    return _memory


def _reset_after_fork() -> None:
    """In a forked child: its engines are gone, and the lock may have been held."""
    global _memory
    _memory = ModelMemory(memory_budget)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
