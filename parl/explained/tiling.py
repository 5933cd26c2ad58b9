"""Fill some time with what is known of it, without a gap or an overlap. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ...measures.stretch import Stretch, TimeKind

__all__ = ["Layers", "joined", "tiled"]

Layers = Sequence[Sequence[Stretch]]
"""Stretches, those of an earlier layer over those of a later one."""

# Within a layer the innermost counts: a model's call of a tool lies inside its attempt's time.
_RANKS: tuple[TimeKind, ...] = (
    "provider",
    "slot",
    "tool",
    "gate",
    "delay",
    "memory",
    "model",
    "person",
    "planning",
    "answer",
    "start",
    "prefect",
    "stopped",
    "earlier",
)
_RANK = {kind: rank for rank, kind in enumerate(_RANKS)}

_Open = tuple[tuple[int, int, int], Stretch]


def tiled(since: float, until: float, layers: Layers, rest: Stretch) -> list[Stretch]:
    """Return stretches that fill the time from `since` to `until`, in order.

    Args:
        since: When the time begins; none is filled unless it is before `until`.
        layers: What is known. It may reach beyond the time, and overlap.
        rest: Of the kind of whatever is left, and whose that is.
    """
    if not since < until:
        return []
    starts = sorted(_clipped(since, until, layers), key=lambda found: found[1].started_at)
    moments = {since, until}
    for _, each in starts:
        moments |= {each.started_at, each.ended_at}
    open_: list[_Open] = []
    tiles: list[Stretch] = []
    following = 0
    for begin, end in pairwise(sorted(moments)):
        while following < len(starts) and starts[following][1].started_at <= begin:
            heapq.heappush(open_, starts[following])
            following += 1
        while open_ and open_[0][1].ended_at <= begin:
            heapq.heappop(open_)
        tiles.append(_cut(open_[0][1] if open_ else rest, begin, end))
    return joined(tiles)


def joined(tiles: Iterable[Stretch]) -> list[Stretch]:
    """Return stretches that follow each other, neighbours of the same kind and attempt joined."""
    found: list[Stretch] = []
    for tile in tiles:
        last = found[-1] if found else None
        if last and _names(last) == _names(tile):
            found[-1] = _cut(last, last.started_at, tile.ended_at)
        else:
            found.append(tile)
    return found


def _clipped(since: float, until: float, layers: Layers) -> list[_Open]:
    """Return what lies within some time, with what decides between two of them."""
    return [
        ((layer, _RANK[each.kind], order), _cut(each, started_at, ended_at))
        for layer, stretches in enumerate(layers)
        for order, each in enumerate(stretches)
        if (started_at := max(since, each.started_at)) < (ended_at := min(until, each.ended_at))
    ]


def _cut(stretch: Stretch, started_at: float, ended_at: float) -> Stretch:
    if (stretch.started_at, stretch.ended_at) == (started_at, ended_at):
        return stretch
    return stretch.model_copy(update={"started_at": started_at, "ended_at": ended_at})


def _names(stretch: Stretch) -> tuple[str, str, int]:
    return stretch.kind, stretch.step, stretch.attempt
