"""How good a plan looks for its objective, by counting words: cheap, and the same on every machine.

    score = (0.4 * covered + 0.6 * separate) * (1 - repeated) * (1 - stray)
            * (0.5 if lumped else 1) * (0.6 if unlinked else 1)

Every term lies in 0..1. A plan below `THRESHOLD` is worth sampling again; none is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..task_ir import Step, TaskIR

__all__ = ["THRESHOLD", "PlanScore", "listed", "score", "words"]

THRESHOLD = 0.75
"""The least score of a plan that is taken without sampling another."""

_SAME = 0.8  # of all words in two prompts, shared: one asks what the other asks
_STOP = frozenset(
    """a about all also an and any are as at be both but by can do does each every for from get give
    has have how i if in into is it its me my no not of on one or our say should so some than that
    the their them then these they this those to up us use was we what when where which who why
    will with you your""".split()  # noqa: SIM905 (a list of one word a line)
)
_BULLET = re.compile(r"(?:^|(?<=\s))(?:[-*•]|\(?\d{1,2}[.)])\s+")
_SENTENCE = re.compile(r"\n+|[.?!]\s+")
_CHAIN = re.compile(r";|,?\s+(?:and\s+)?(?:then|afterwards|finally)\b,?", re.IGNORECASE)
_COMMA = re.compile(r",\s*(?:and\s+|or\s+)?|\s+(?:and|or|versus|vs\.?)\s+", re.IGNORECASE)
_TAIL = re.compile(r"\s+(?:for|as|in|to|by|from|with|on|at|of)\s.*", re.IGNORECASE)
_LINKS = re.compile(
    r"\b(?:afterwards|best|better|choose|compar\w+|conclu\w+|decide|finally|from (?:it|them)"
    r"|join\w*|judge|rank|sum\b.*\bup|then|verdict|versus|vs|weigh)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PlanScore:
    """A plan's terms, each in 0..1.

    Attributes:
        covered: Share of the objective's words that some step says.
        separate: Share of the things the objective lists that have a step of their own; `covered`
            where it lists nothing.
        repeated: Share of the steps that ask what an earlier one asks, or repeat their own words.
        stray: Share of the steps that need no other and share no word with the objective.
        lumped: One step although the objective lists several things.
        unlinked: Several steps of which none needs another, although the objective compares, joins
            or says "then".
        reasons: What is wrong, one clause each.
    """

    covered: float
    separate: float
    repeated: float
    stray: float
    lumped: bool
    unlinked: bool
    reasons: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The score, 0 (useless) to 1."""
        good = 0.4 * self.covered + 0.6 * self.separate
        good *= (1 - self.repeated) * (1 - self.stray)
        return good * (0.5 if self.lumped else 1.0) * (0.6 if self.unlinked else 1.0)

    @property
    def good_enough(self) -> bool:
        """Whether the plan is taken without sampling another."""
        return self.value >= THRESHOLD


def score(plan: TaskIR, objective: str) -> PlanScore:
    """Score a plan for an objective."""
    wanted = words(objective)
    said = [words(step.prompt) for step in plan.steps]
    named = [words(step.agent) | prompt for step, prompt in zip(plan.steps, said, strict=True)]
    covered = _share(len(wanted & frozenset().union(*named)), len(wanted))
    things = listed(objective)
    taken = _taken([words(thing) for thing in things], named)
    repeats = _repeats(plan.steps, wanted)
    strays = [
        step.id
        for step, prompt in zip(plan.steps, said, strict=True)
        if not step.depends_on and wanted and not prompt & wanted
    ]
    lumped = len(plan.steps) == 1 and len(things) > 1
    unlinked = (
        len(plan.steps) > 1
        and _LINKS.search(objective) is not None
        and not any(step.depends_on for step in plan.steps)
    )
    reasons = [f"{step} repeats" for step in repeats] + [f"{step} strays" for step in strays]
    if things and taken < len(things):
        reasons.append(f"{taken} of {len(things)} listed things have a step of their own")
    if lumped:
        reasons.append("one step does several things")
    if unlinked:
        reasons.append("no step needs another")
    return PlanScore(
        covered=covered,
        separate=_share(taken, len(things)) if things else covered,
        repeated=_share(len(repeats), len(plan.steps), 0.0),
        stray=_share(len(strays), len(plan.steps), 0.0),
        lumped=lumped,
        unlinked=unlinked,
        reasons=tuple(reasons),
    )


def listed(objective: str) -> tuple[str, ...]:
    """Return the things an objective lists: bulleted, told in turn, in commas, or in sentences.

    Empty if it lists fewer than two. "Compare tea, coffee and water" lists three.
    """
    sentences = _kept(_SENTENCE.split(objective))
    bulleted = _kept(_BULLET.split(objective)[1:])
    commas = max((_enumerated(sentence) for sentence in sentences), key=len, default=())
    ways = (bulleted, _kept(_CHAIN.split(objective)), commas, sentences)
    return next((way for way in ways if len(way) > 1), ())


def words(text: str) -> frozenset[str]:
    """Return what a text is about: its words without the small ones, cut to a common beginning."""
    found = re.findall(r"[^\W_]+", text.casefold())
    return frozenset(
        (word[:-1] if word.endswith("s") and len(word) > 3 else word)[:6]
        for word in found
        if word not in _STOP
    )


def _enumerated(sentence: str) -> tuple[str, ...]:
    parts = list(_kept(_COMMA.split(sentence.rpartition(":")[2])))
    if len(parts) > 1:
        parts[-1] = _TAIL.sub("", parts[-1])
        # "Compare solar panels, wind turbines": what stands before the first thing is longer.
        longest = max(len(part.split()) for part in parts[1:])
        parts[0] = " ".join(parts[0].split()[-longest:])
    return _kept(parts)


def _kept(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for part in parts if words(part))


def _taken(things: Sequence[frozenset[str]], steps: Sequence[frozenset[str]]) -> int:
    """Count the things for which a step is left that says at least half of their words."""
    free = list(range(len(steps)))
    for thing in things:
        fits = [n for n in free if len(thing & steps[n]) * 2 >= len(thing)]
        if fits:
            # The step that says least else: one that says everything is kept for no thing alone.
            free.remove(min(fits, key=lambda n: len(steps[n] - thing)))
    return len(steps) - len(free)


def _repeats(steps: Sequence[Step], wanted: frozenset[str]) -> list[str]:
    before: list[frozenset[str]] = []
    found: list[str] = []
    for step in steps:
        said = words(step.prompt)
        if _stutters(step.prompt) or any(_same(said, other, wanted) for other in before):
            found.append(step.id)
        before.append(said)
    return found


def _same(one: frozenset[str], other: frozenset[str], wanted: frozenset[str]) -> bool:
    # Two lanes of one kind of work differ in the word that the objective lists: not a repeat.
    lanes = bool((one - other) & wanted) and bool((other - one) & wanted)
    return not lanes and len(one & other) >= _SAME * len(one | other)


def _stutters(prompt: str) -> bool:
    said = prompt.casefold().split()
    return len(said) > 8 and len(set(said)) * 2 < len(said)


def _share(part: int, whole: int, empty: float = 1.0) -> float:
    return part / whole if whole else empty
