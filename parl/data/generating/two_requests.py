"""Two requests in one message that have nothing to do with each other. Pure but for the choices."""

from __future__ import annotations

import random
import re

from .expand import Expansion, MisfitError
from .limits import objective_problem, plan_problem
from .marked import MARK, Marked

__all__ = ["both"]

_MOST_STEPS = 8
_INLINE = (
    ("", " Also: "),
    ("", " Separately: "),
    ("", " Another thing: "),
    ("", " And, nothing to do with it: "),
    ("Two things. ", " And: "),
    ("Two unrelated things: 1) ", " 2) "),
    ("First task: ", " Second task: "),
    ("1. ", "\n2. "),
    ("- ", "\n- "),
)
_ON_LINES = (
    ("", "\n"),
    ("", "\n\n"),
    ("", "\n\nAlso:\n"),
    ("", "\n---\n"),
    ("Task 1:\n", "\n\nTask 2:\n"),
    ("", "\n\nSomething else:\n"),
)
"""What stands before the first request, and between the two."""

_MARKS = re.compile(MARK)
_END = re.compile(r"[.?!:…]['\"”)]?$")
_NUMBER = re.compile(r"^\d+", re.MULTILINE)
_NEEDS = re.compile(r"\(needs [\d, ]+\)$", re.MULTILINE)


def both(one: Expansion, other: Expansion, rng: random.Random) -> Expansion:
    """Ask for both in one message: the plan does one beside the other.

    Raises:
        MisfitError: The plan or the message breaks a limit.
    """
    before = len(one.needs)
    if before + len(other.needs) > _MOST_STEPS:
        raise MisfitError(f"{before + len(other.needs)} steps are more than {_MOST_STEPS}")
    objective = _message(one.objective, other.objective, rng)
    plan = f"{one.plan}\n{_moved(other.plan, before)}"
    if problem := objective_problem(objective.plain()) or plan_problem(plan, objective.plain()):
        raise MisfitError(problem)
    needs = (*one.needs, *(tuple(need + before for need in its) for its in other.needs))
    return Expansion(objective, plan, needs, one.asked | other.asked, one.told | other.told)


def _message(one: Marked, other: Marked, rng: random.Random) -> Marked:
    lines = "\n" in one.text or "\n" in other.text
    lead, between = rng.choice(_ON_LINES if lines else (*_INLINE, *_ON_LINES))
    stop = "" if between.startswith("\n") or _END.search(one.plain()) else "."
    # The marks of the second go on where those of the first end.
    second = _MARKS.sub(lambda match: chr(ord(match[0]) + len(one.slots)), other.text)
    return Marked(f"{lead}{one.text}{stop}{between}{second}", [*one.slots, *other.slots])


def _moved(plan: str, by: int) -> str:
    """Return a plan whose steps have higher numbers."""

    def moved(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + by), match[0])

    return _NEEDS.sub(moved, _NUMBER.sub(moved, plan))
