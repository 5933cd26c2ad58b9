"""What is done once, to what was joined, told in a step for each thing that was joined. Pure.

`Cut the article on A`, `Cut the article on B`, where one article was written from A and B, is
`Cut the article on A and B`. Where the objective says so of each, or names them, they stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .....task_ir import Step
from ..coverage import all_needs
from ..vocabulary import words
from .parallel_steps import Row, rows

__all__ = ["gathered"]

_CLAUSE = re.compile(r"[,;:.!?]\s|\n|\b(?:and|then)\b", re.IGNORECASE)
_OF_EACH = re.compile(
    r"\b(?:all|apiece|both|each|every|individual(?:ly)?|respective(?:ly)?|separate(?:ly)?|their"
    r"|them|these|those|two|three|four)\b",
    re.IGNORECASE,
)


def gathered(
    steps: Sequence[Step], among: Sequence[Row], objective: str
) -> tuple[list[Step], list[str]]:
    """Make one step of those that do the same, for each thing joined, to what was joined of them.

    Args:
        steps: In their order: a step's needs come before it.
        among: The rows of these steps.

    Returns:
        The steps, and a clause for each that was made of several.
    """
    found, notes = [*steps], list[str]()
    while tail := _tail(found, among, objective):
        found = _as_one(found, tail)
        notes.append(f"{', '.join(tail.ids)} are one, done to what was joined")
    return found, notes


def _tail(steps: Sequence[Step], among: Sequence[Row], objective: str) -> Row | None:
    earlier = all_needs(steps)
    for join in (step for step in steps if len(step.depends_on) > 1):
        lanes = [lane for row in among for lane in row.lanes if lane.step.id in earlier[join.id]]
        things = frozenset[str]().union(*(lane.about for lane in lanes))
        for row in rows(_after(steps, join)):
            own = all(lane.about and lane.about <= things for lane in row.lanes)
            if own and _is_told_once(row, objective):
                return row
    return None


def _is_told_once(row: Row, objective: str) -> bool:
    """Whether the clause that tells what these steps do says it of one thing."""
    about = frozenset[str]().union(*(lane.about for lane in row.lanes))
    work = words(row.lanes[0].step.prompt) - about
    clause = max(_CLAUSE.split(objective), key=lambda part: len(words(part) & work))
    return bool(words(clause) & work) and not words(clause) & about and not _OF_EACH.search(clause)


def _after(steps: Sequence[Step], join: Step) -> list[Step]:
    """Steps that work on a join's outcome alone, one after another or not, as if side by side."""
    ids, found = {join.id}, list[Step]()
    for step in steps:
        if len(step.depends_on) == 1 and ids.issuperset(step.depends_on):
            ids.add(step.id)
            found.append(step.model_copy(update={"depends_on": (join.id,)}))
    return found


def _as_one(steps: Sequence[Step], tail: Row) -> list[Step]:
    first, *others = tail.lanes
    *some, last = (lane.own for lane in tail.lanes)
    told = first.step.prompt.replace(first.own, f"{', '.join(some)} and {last}", 1)
    gone = {lane.step.id for lane in others}
    found: list[Step] = []
    for step in steps:
        needs = dict.fromkeys(first.step.id if need in gone else need for need in step.depends_on)
        if step.id == first.step.id:
            found.append(step.model_copy(update={"prompt": told}))
        elif step.id not in gone:
            found.append(step.model_copy(update={"depends_on": tuple(needs)}))
    return found
