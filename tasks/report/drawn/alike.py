"""Which steps are drawn together: those that need the same and are needed by the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["alike", "without_shortcuts"]


def alike(upstream: Mapping[str, Iterable[str]], least: int) -> list[tuple[str, ...]]:
    """Sort steps into groups, in the order of their first members.

    Args:
        upstream: What each step needs; each step stands after those.
        least: Members of a group at least; the steps of a smaller set are groups of their own.
    """
    downstream: dict[str, set[str]] = {step: set() for step in upstream}
    for step, needs in upstream.items():
        for needed in needs:
            downstream[needed].add(step)
    sets: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for step, needs in upstream.items():
        sets.setdefault((frozenset(needs), frozenset(downstream[step])), []).append(step)
    groups = [
        group
        for members in sets.values()
        for group in ([members] if len(members) >= least else [[member] for member in members])
    ]
    place = {step: number for number, step in enumerate(upstream)}
    return sorted(map(tuple, groups), key=lambda group: place[group[0]])


def without_shortcuts(upstream: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Leave out what a step needs that another step which it needs stands behind anyway.

    Args:
        upstream: What each step needs; each step stands after those.
    """
    behind: dict[str, set[str]] = {}
    kept: dict[str, tuple[str, ...]] = {}
    for step, needs in upstream.items():
        indirect = set[str]().union(*(behind[needed] for needed in needs))
        behind[step] = indirect.union(needs)
        kept[step] = tuple(needed for needed in needs if needed not in indirect)
    return kept
