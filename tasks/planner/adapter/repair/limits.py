"""A limit that a plan states as an exact measure: `max 8 words` isn't `8 words`. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from .....task_ir import Step
from ..vocabulary import LIMIT, LIMIT_OF_LENGTH, NUMBER, ROUGHLY, UNIT

__all__ = ["restore_limits"]

_ANY = (
    rf"{LIMIT}|no less than|no fewer than|more than|max(?:imum)?\.?|min(?:imum)?\.?|a maximum of"
    r"|a minimum of"
)
_OTHER = rf"{LIMIT_OF_LENGTH}|{ROUGHLY}|roughly"
_AFTER = r"or less|or fewer|or more|at most|at least|max(?:imum)?\b|min(?:imum)?\b|tops"
_MEASURE = rf"{NUMBER} [^\W\d_]+"
_BEFORE = re.compile(rf"\b(?:{_ANY}) (?P<what>{_MEASURE})\b", re.IGNORECASE)
_LENGTH = re.compile(rf"\b(?:{LIMIT_OF_LENGTH}) (?P<what>{NUMBER} (?:{UNIT}))\b", re.IGNORECASE)
_BEHIND = re.compile(rf"\b(?P<what>{_MEASURE}) (?:{_AFTER})", re.IGNORECASE)


def restore_limits(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    """Say a limit as the objective does, where a step says its number as if it were exact.

    A measure that the objective says with two limits, or without one too, is left alone.

    Returns:
        The steps, and a clause for each limit that was put back.
    """
    found, notes = [*steps], list[str]()
    for what, limit in _limits(objective).items():
        prompts = {step.id: _limited(step.prompt, what, limit) for step in found}
        changed = [step.id for step in found if prompts[step.id] != step.prompt]
        found = [step.model_copy(update={"prompt": prompts[step.id]}) for step in found]
        if changed:
            notes.append(f"{', '.join(changed)} had lost the limit of “{limit}”")
    return found, notes


def _limits(objective: str) -> dict[str, str]:
    """Each measure that has one limit throughout, and both as the objective has them."""
    limits_of: defaultdict[str, set[str]] = defaultdict(set)
    for form in (_BEFORE, _LENGTH, _BEHIND):
        for match in form.finditer(objective):
            limits_of[match["what"]].add(match[0][0].casefold() + match[0][1:])
    only = {what: limits.pop() for what, limits in limits_of.items() if len(limits) == 1}
    return {
        what: limit for what, limit in only.items() if _limited(objective, what, "") == objective
    }


def _limited(text: str, what: str, limit: str) -> str:
    """Put a measure's limit wherever it has none."""
    some = rf"(?P<has>\b(?:{_ANY}|{_OTHER}) )?\b{re.escape(what)}\b(?! (?:{_AFTER}))"
    return re.sub(
        some, lambda match: match[0] if match["has"] else limit, text, flags=re.IGNORECASE
    )
