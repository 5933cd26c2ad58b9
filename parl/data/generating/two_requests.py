"""Combine two unrelated requests into one message. Pure but for the random choices."""

from __future__ import annotations

import random
import re

from .draw import objective_problem, plan_problem
from .expand import Expansion, MisfitError
from .marked import MARK, MarkedText

__all__ = ["combine_requests"]

_MAX_STEPS = 8
_JOINS_IN_LINE = (
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
_JOINS_ON_LINES = (
    ("", "\n"),
    ("", "\n\n"),
    ("", "\n\nAlso:\n"),
    ("", "\n---\n"),
    ("Task 1:\n", "\n\nTask 2:\n"),
    ("", "\n\nSomething else:\n"),
)
"""Texts before the first request and between the two."""

_MARKS = re.compile(MARK)
_END = re.compile(r"[.?!:…]['\"”)]?$")
_NUMBER = re.compile(r"^\d+", re.MULTILINE)
_NEEDS = re.compile(r"\(needs [\d, ]+\)$", re.MULTILINE)


def combine_requests(first: Expansion, second: Expansion, rng: random.Random) -> Expansion:
    """Put two requests into one message; the plan has the steps of both, side by side.

    Raises:
        MisfitError: The plan or the message breaks a limit.
    """
    offset = len(first.needs)
    if offset + len(second.needs) > _MAX_STEPS:
        raise MisfitError(f"{offset + len(second.needs)} steps are more than {_MAX_STEPS}")
    objective = _message(first.objective, second.objective, rng)
    plan = f"{first.plan}\n{_shift_numbers(second.plan, offset)}"
    if problem := objective_problem(objective.plain_text()) or plan_problem(
        plan, objective.plain_text()
    ):
        raise MisfitError(problem)
    shifted = (tuple(need + offset for need in step_needs) for step_needs in second.needs)
    return Expansion(
        objective,
        plan,
        (*first.needs, *shifted),
        first.objective_variables | second.objective_variables,
        first.plan_variables | second.plan_variables,
    )


def _message(first: MarkedText, second: MarkedText, rng: random.Random) -> MarkedText:
    has_lines = "\n" in first.text or "\n" in second.text
    lead, join = rng.choice(_JOINS_ON_LINES if has_lines else (*_JOINS_IN_LINE, *_JOINS_ON_LINES))
    stop = "" if join.startswith("\n") or _END.search(first.plain_text()) else "."
    # The marks of the second text are numbered after those of the first.
    second_text = _MARKS.sub(lambda match: chr(ord(match[0]) + len(first.slots)), second.text)
    return MarkedText(f"{lead}{first.text}{stop}{join}{second_text}", [*first.slots, *second.slots])


def _shift_numbers(plan: str, offset: int) -> str:
    """Return a plan with all its step numbers higher by an amount."""

    def shift(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + offset), match[0])

    return _NEEDS.sub(shift, _NUMBER.sub(shift, plan))
