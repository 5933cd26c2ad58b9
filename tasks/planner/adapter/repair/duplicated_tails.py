"""Work on a joined result that a plan repeats for each thing that was joined. Pure.

`Cut the article on A`, `Cut the article on B`, where one article was written from A and B, is
`Cut the article on A and B`. Where the objective says so of each, or names them, they stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .....task_ir import Step
from ..coverage import all_needs
from ..vocabulary import words
from .parallel_steps import ParallelGroup, parallel_groups

__all__ = ["merge_duplicated_steps"]

_CLAUSE = re.compile(r"[,;:.!?]\s|\n|\b(?:and|then)\b", re.IGNORECASE)
_OF_EACH = re.compile(
    r"\b(?:all|apiece|both|each|every|individual(?:ly)?|respective(?:ly)?|separate(?:ly)?|their"
    r"|them|these|those|two|three|four)\b",
    re.IGNORECASE,
)


def merge_duplicated_steps(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> tuple[list[Step], list[str]]:
    """Merge the steps that do the same to a joined result, one for each thing that was joined.

    Args:
        steps: In their order: a step's needs come before it.
        groups: The groups of parallel steps among these.

    Returns:
        The steps, and a clause for each merge.
    """
    found, notes = [*steps], list[str]()
    while tail := _tail(found, groups, objective):
        found = _as_one(found, tail)
        notes.append(f"{', '.join(tail.ids)} are merged: they do the same to the joined result")
    return found, notes


def _tail(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> ParallelGroup | None:
    earlier = all_needs(steps)
    for join in (step for step in steps if len(step.depends_on) > 1):
        branches = [
            branch
            for group in groups
            for branch in group.branches
            if branch.step.id in earlier[join.id]
        ]
        things = frozenset[str]().union(*(branch.about for branch in branches))
        for group in parallel_groups(_after(steps, join)):
            own = all(branch.about and branch.about <= things for branch in group.branches)
            if own and _is_asked_once(group, objective):
                return group
    return None


def _is_asked_once(group: ParallelGroup, objective: str) -> bool:
    """Whether the clause that asks for what these steps do asks for it once."""
    about = frozenset[str]().union(*(branch.about for branch in group.branches))
    work = words(group.branches[0].step.prompt) - about
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


def _as_one(steps: Sequence[Step], tail: ParallelGroup) -> list[Step]:
    first, *others = tail.branches
    *some, last = (branch.own for branch in tail.branches)
    prompt = first.step.prompt.replace(first.own, f"{', '.join(some)} and {last}", 1)
    gone = {branch.step.id for branch in others}
    found: list[Step] = []
    for step in steps:
        needs = dict.fromkeys(first.step.id if need in gone else need for need in step.depends_on)
        if step.id == first.step.id:
            found.append(step.model_copy(update={"prompt": prompt}))
        elif step.id not in gone:
            found.append(step.model_copy(update={"depends_on": tuple(needs)}))
    return found
