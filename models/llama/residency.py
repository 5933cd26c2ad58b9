"""The memory that loaded models share: what each reserved, and which are unloaded for another."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import ModelError
from .sizing import BUDGET_VARIABLE, memory_budget

__all__ = [
    "MemoryUse",
    "MemoryUser",
    "ModelMemory",
    "Resident",
    "bytes_of",
    "fits_alone",
    "gigabytes",
    "is_buffer_line",
    "model_memory",
    "reserved",
    "to_unload",
]


class MemoryUse(NamedTuple):
    """Bytes that an engine takes.

    Attributes:
        weights: The model's weights, which engines over the same file share.
        own: Its context: KV cache, compute buffers, adapter.
    """

    weights: int
    own: int


class Resident(NamedTuple):
    """An engine that is loaded, or is to be.

    Attributes:
        name: What people call it.
        file: Engines with the same value share their weights.
        use: The memory that it takes.
        busy: Whether a request is running or waiting in it.
        last_used: When it last had a request, in seconds of any clock.
        pinned: Whether others are unloaded before it.
        leaving: Whether it has been asked to unload already.
    """

    name: str
    file: Hashable
    use: MemoryUse
    busy: bool = False
    last_used: float = 0.0
    pinned: bool = False
    leaving: bool = False


def bytes_of(residents: Iterable[Resident]) -> int:
    """Return the bytes that they take together; shared weights count once."""
    weights: dict[Hashable, int] = {}
    own = 0
    for resident in residents:
        weights[resident.file] = max(weights.get(resident.file, 0), resident.use.weights)
        own += resident.use.own
    return own + sum(weights.values())


def fits_alone(wanted: Resident, budget: int) -> bool:
    """Whether an engine can be loaded at all."""
    return bytes_of([wanted]) <= budget


def to_unload(loaded: Sequence[Resident], wanted: Resident, budget: int) -> list[int]:
    """Choose whom to unload so that `wanted` fits, if it fits alone; nobody without need.

    First come those that are leaving anyway, then idle ones, then busy ones, which end their
    requests first; pinned ones come last of all. Among equals the least recently used goes.

    Args:
        loaded: The engines that take memory now.
        wanted: The engine to be loaded.
        budget: Bytes that all may take together.

    Returns:
        Their places in `loaded`, the first to unload first.
    """
    retained = set(range(len(loaded)))

    def fits(places: set[int]) -> bool:
        return bytes_of([*(loaded[place] for place in places), wanted]) <= budget

    chosen: list[int] = []
    for place in sorted(retained, key=lambda place: _worth(loaded[place])):
        if fits(retained):
            break
        retained.remove(place)
        chosen.append(place)
    # A small one that was chosen first may stay after all when a large one behind it goes.
    for place in reversed(chosen):
        if not loaded[place].leaving and fits({*retained, place}):
            retained.add(place)
    return [place for place in chosen if place not in retained]


def _worth(resident: Resident) -> tuple[bool, bool, bool, float]:
    return not resident.leaving, resident.pinned, resident.busy, resident.last_used


_BUFFER = re.compile(r"\b(\w++) buffer size = *+([0-9]+(?:\.[0-9]+)?) MiB")


def is_buffer_line(line: str) -> bool:
    """Whether a line of llama.cpp's log says that memory was reserved."""
    return _BUFFER.search(line) is not None


def reserved(lines: Iterable[str]) -> MemoryUse:
    """Add up what the lines say: buffers of the model are weights, all others are its context's."""
    weights = own = 0
    for line in lines:
        if found := _BUFFER.search(line):
            size = round(float(found[2]) * 2**20)
            if found[1] == "model":
                weights += size
            else:
                own += size
    return MemoryUse(weights, own)


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
