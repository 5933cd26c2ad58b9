"""Limits and facts that no step of a plan says, put back where the objective has them. Pure.

- `a one-line teaser`, `a verdict of at most 100 words`: a measure belongs to what it stands beside.
- `60 words each`: to the steps that do the same to different things, where they are one group.
- `cast iron (20 cm, from my aunt)`: what stands in brackets belongs to what is before them.

They go to the first steps that speak of it, not to those that build on these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .....task_ir import Step
from ..coverage import all_needs
from ..vocabulary import LIMIT, LIMIT_OF_LENGTH, NUMBER, ROUGHLY, UNIT, content, words
from .parallel_steps import ParallelGroup

__all__ = [
    "restore_brackets",
    "restore_compounds",
    "restore_measures",
    "restore_measures_of_each",
]

_LEAST = rf"(?:(?:{LIMIT}|{LIMIT_OF_LENGTH}|{ROUGHLY}|max(?:imum)?) )?"
_COMPOUND = re.compile(rf"\b{NUMBER}-(?P<unit>[a-z]+)(?= \w)", re.IGNORECASE)
_MEASURE = re.compile(
    rf"(?P<lead>,? (?:in|of|with|within) |,? )(?P<what>{_LEAST}{NUMBER} (?P<unit>{UNIT})"
    r"(?: a day| a week| or less| or fewer| or more| at most)?)\b(?! at a time| ago)"
    r"(?P<each> each| apiece| per \w+| for (?:each|every)\b)?",
    re.IGNORECASE,
)
# Words that say how steps are connected are not facts.
_BRACKET = re.compile(
    r" \((?!(?:after|based|blocked|builds?|depends|each|likewise|needs|number|one person|only|same"
    r"|separately|step|that's|uses|which)\b)"
    r"[^()\n]{3,80}\)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.?!;:()](?:\s|$)|\n")
_WORD = re.compile(r"\S+")
_A = re.compile(r"(?P<a>\ba)n? $", re.IGNORECASE)
_AN = re.compile(r"(?:8|11\b|11-|18\b|18-|eight|eleven)", re.IGNORECASE)
_BESIDE = 2


@dataclass(frozen=True)
class MissingConstraint:
    """A limit or a fact of the objective that no step states.

    Attributes:
        text: As the objective has it, with what joins it to its place.
        beside: The words, one or two, that it stands beside; empty where it is said of each.
        is_after: Whether it stands after them.
    """

    text: str
    beside: tuple[str, ...] = ()
    is_after: bool = True


def restore_compounds(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> tuple[list[Step], list[str]]:
    """Put back each missing measure of one word where it is plain to which steps it belongs.

    Args:
        steps: In their order: a step's needs come before it.
        groups: The groups of parallel steps among these.

    Returns:
        The steps, and a clause for each thing that was put back; so do the others.
    """
    return _restored(steps, groups, _missing_compounds(objective, steps))


def restore_measures(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> tuple[list[Step], list[str]]:
    """Put back each missing measure that is said of one thing."""
    missing = [each for each in _missing_measures(objective, steps) if each.beside]
    return _restored(steps, groups, missing)


def restore_measures_of_each(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> tuple[list[Step], list[str]]:
    """Put back each missing measure that is said of several things."""
    missing = [each for each in _missing_measures(objective, steps) if not each.beside]
    return _restored(steps, groups, missing)


def restore_brackets(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str
) -> tuple[list[Step], list[str]]:
    """Put back each missing fact in brackets."""
    return _restored(steps, groups, _missing_brackets(objective, steps))


def _restored(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], missing: Iterable[MissingConstraint]
) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    for each in [*missing]:
        prompts = _beside(found, each) if each.beside else _of_each(found, groups, each)
        found = [
            step.model_copy(update={"prompt": prompts.get(step.id, step.prompt)}) for step in found
        ]
        if prompts:
            notes.append(f"{', '.join(prompts)} had lost “{each.text.strip(' ,')}”")
    return found, notes


def _pieces(steps: Sequence[Step]) -> frozenset[str]:
    """`one-line` is there in `one line`, whatever the number is said to be."""
    return words(" ".join(step.prompt for step in steps).replace("-", " "))


def _missing_compounds(objective: str, steps: Sequence[Step]) -> Iterable[MissingConstraint]:
    pieces = _pieces(steps)
    for match in _COMPOUND.finditer(objective):
        unit, after = words(match["unit"]), _after(objective, match.end())
        if unit and not unit & pieces and after:
            yield MissingConstraint(f"{match[0]} ", after, is_after=False)


def _missing_measures(objective: str, steps: Sequence[Step]) -> Iterable[MissingConstraint]:
    pieces = _pieces(steps)
    for match in _MEASURE.finditer(objective):
        before = _before(objective, match.start())
        if words(match["unit"]) & pieces:
            continue
        if match["each"]:
            yield MissingConstraint(f" in {match['what']}")
        elif before:
            yield MissingConstraint(match["lead"] + match["what"], before)


def _missing_brackets(objective: str, steps: Sequence[Step]) -> Iterable[MissingConstraint]:
    text_words = words(" ".join(step.prompt for step in steps))
    for match in _BRACKET.finditer(objective):
        inside, before = words(match[0]), _before(objective, match.start())
        if any(word.isalpha() for word in inside) and not inside & text_words and before:
            yield MissingConstraint(match[0], before)


def _after(objective: str, place: int) -> tuple[str, ...]:
    """The words that follow without a small one: `planting tip` of `planting tip for a balcony`."""
    found: list[str] = []
    for word in _WORD.findall(_CLAUSE.split(objective[place:])[0])[:_BESIDE]:
        if not content(word):
            break
        found += content(word)
    return tuple(found)


def _before(objective: str, place: int) -> tuple[str, ...]:
    """The last words before a place; none where a small one stands there, as in `version A (…)`."""
    before = _WORD.findall(_CLAUSE.split(objective[:place])[-1])
    found = [content(word) for word in before]
    return tuple(word for some in found for word in some)[-_BESIDE:] if found and found[-1] else ()


def _of_each(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], missing: MissingConstraint
) -> dict[str, str]:
    if len(groups) != 1:
        return {}
    return {step.id: step.prompt + missing.text for step in steps if step.id in groups[0].ids}


def _beside(steps: Sequence[Step], missing: MissingConstraint) -> dict[str, str]:
    speak = {step.id for step in steps if words(step.prompt).issuperset(missing.beside)}
    earlier = all_needs(steps)
    first = [step for step in steps if step.id in speak and not earlier[step.id] & speak]
    return {step.id: _with(step.prompt, missing) for step in first}


def _with(prompt: str, missing: MissingConstraint) -> str:
    wanted = missing.beside[-1 if missing.is_after else 0]
    place = next(word for word in _WORD.finditer(prompt) if wanted in words(word[0]))
    if missing.is_after:
        end = place.start() + len(place[0].rstrip(",.;:!?"))
        return prompt[:end] + missing.text + prompt[end:]
    start = prompt[: place.start()]
    if article := _A.search(start):
        start = start[: article.end("a")] + ("n " if _AN.match(missing.text) else " ")
    return start + missing.text + prompt[place.start() :]
