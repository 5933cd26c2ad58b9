"""Which engines are unloaded so that another fits into the memory. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

__all__ = ["MemoryUse", "Resident", "bytes_of", "fits_alone", "to_unload"]


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
    kept = set(range(len(loaded)))

    def fits(places: set[int]) -> bool:
        return bytes_of([*(loaded[place] for place in places), wanted]) <= budget

    chosen: list[int] = []
    for place in sorted(kept, key=lambda place: _worth(loaded[place])):
        if fits(kept):
            break
        kept.remove(place)
        chosen.append(place)
    # A small one that was chosen first may stay after all when a large one behind it goes.
    for place in reversed(chosen):
        if not loaded[place].leaving and fits({*kept, place}):
            kept.add(place)
    return [place for place in chosen if place not in kept]


def _worth(resident: Resident) -> tuple[bool, bool, bool, float]:
    return not resident.leaving, resident.pinned, resident.busy, resident.last_used
