"""Ids of steps, and of what a step becomes: instances, rounds, steps of the plan inside it. Pure.

docs/reference/plan_programs.md has the grammar: `S2`, `S2[7]`, `S2[7.3]`, `S2r3`, `S2.S1`, and all
of these together, `S2[7]r3.S1`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..untrusted.json_text import STEP_ID

__all__ = [
    "MAX_ID",
    "IdLevel",
    "inner_id",
    "instance_id",
    "is_step_id",
    "is_within",
    "nested_instance_id",
    "parent_of",
    "parse_id",
    "planned_id",
    "root_of",
    "round_id",
    "sort_key",
    "steps_above",
]

MAX_ID = 200
"""Characters of an id; plans are nested so little that none comes near it."""
_MOST = 999_999
_NUMBER = r"[1-9][0-9]{0,5}"
_LEVEL = re.compile(
    rf"(?P<step>{STEP_ID.pattern})(?:\[(?P<items>{_NUMBER}(?:\.{_NUMBER})*+)\])?"
    rf"(?:r(?P<round>{_NUMBER}))?(?:\.(?=S)|\Z)"
)


class IdLevel(NamedTuple):
    """What an id says of one plan: `S2[7.3]r4` is its step, its items and its round.

    Attributes:
        step: The step's id within its own plan.
        items: The numbers of its item, from 1; several where a list came from an item.
        round: The number of its round, from 1; 0 for the step itself.
    """

    step: str
    items: tuple[int, ...] = ()
    round: int = 0

    def __str__(self) -> str:
        items = f"[{'.'.join(map(str, self.items))}]" if self.items else ""
        return f"{self.step}{items}{f'r{self.round}' if self.round else ''}"


def parse_id(text: str) -> tuple[IdLevel, ...]:
    """Return the levels of an id, from the outermost plan's to the innermost's.

    Raises:
        ValueError: It isn't an id.
    """
    levels: list[IdLevel] = []
    at = 0
    while len(text) <= MAX_ID and (found := _LEVEL.match(text, at)):
        items = found["items"]
        numbers = tuple(map(int, items.split("."))) if items else ()
        levels.append(IdLevel(found["step"], numbers, int(found["round"] or 0)))
        at = found.end()
        if at == len(text):
            return tuple(levels)
    raise ValueError(f"{text[:MAX_ID]!r} is not the id of a step, such as S2, S2[7] or S2[7]r3.S1")


def is_step_id(text: str) -> bool:
    """Say whether a text is the id of a step, an instance, a round or an inner step."""
    try:
        parse_id(text)
    except ValueError:
        return False
    return True


def is_within(step: str, outer: str) -> bool:
    """Say whether an id is an instance, a round or an inner step of another, at any depth.

    `S2[7.3]` is within `S2[7]`, as it comes from that item's list.

    Raises:
        ValueError: One of them isn't an id.
    """
    inner, around = parse_id(step), parse_id(outer)
    depth = len(around) - 1
    if step == outer or len(inner) <= depth or inner[:depth] != around[:depth]:
        return False
    own, last = inner[depth], around[depth]
    if last.round:
        return own == last
    return own.step == last.step and own.items[: len(last.items)] == last.items


def instance_id(step: str, *numbers: int) -> str:
    """Return the id of the instance of a step for an item: `S2[7]`, or `S2[7.3]`.

    Args:
        step: The step's id, without an item or a round at its last level.
        numbers: The item's number, from 1; several where a list came from an item.

    Raises:
        ValueError: The step has an item or a round already, or a number isn't from 1 to 999,999.
    """
    *outer, last = parse_id(step)
    if last.items or last.round or not numbers:
        raise ValueError(f"{step} with the numbers {numbers} is not the id of an instance")
    return _written(*outer, last._replace(items=numbers))


def nested_instance_id(instance: str, number: int) -> str:
    """Return the id for an item of the list that an instance's item brought: S3[7] → S3[7.2].

    Raises:
        ValueError: The id isn't an instance's, or the number isn't from 1 to 999,999.
    """
    *outer, last = parse_id(instance)
    if last.round or not last.items:
        raise ValueError(f"{instance} is not the id of an instance")
    return _written(*outer, last._replace(items=(*last.items, number)))


def round_id(step: str, number: int) -> str:
    """Return the id of a round of a step or an instance: `S2r3`, `S2[7]r3`.

    Raises:
        ValueError: The id is a round's already, or the number isn't from 1 to 999,999.
    """
    *outer, last = parse_id(step)
    if last.round or number < 1:
        raise ValueError(f"{step} with the number {number} is not the id of a round")
    return _written(*outer, last._replace(round=number))


def inner_id(outer: str, step: str) -> str:
    """Return the id of a step of the plan inside a step: S2[7] and S1 → `S2[7].S1`.

    Raises:
        ValueError: One of them isn't an id, or they are too long together.
    """
    return _written(*parse_id(outer), *parse_id(step))


def parent_of(step: str) -> str:
    """Return the id of what an id is a part of; "" for a step of the plan itself.

    An inner step is a part of the step around it, a round of its step or instance, and an instance,
    whatever its numbers, of its step: S2[7]r3.S1 → S2[7]r3 → S2[7] → S2 → "".

    Raises:
        ValueError: It isn't an id.
    """
    *outer, last = parse_id(step)
    if last.round:
        return _written(*outer, last._replace(round=0))
    if last.items:
        return _written(*outer, last._replace(items=()))
    return _written(*outer) if outer else ""


def steps_above(step: str) -> tuple[str, ...]:
    """Return all that an id is a part of, from the nearest on: S2[7].S1 → S2[7], S2.

    There are none for what isn't an id.
    """
    found: list[str] = []
    try:
        while step := parent_of(step):
            found.append(step)
    except ValueError:
        return ()
    return tuple(found)


def planned_id(step: str) -> str:
    """Return where a plan has what an id was made from: S2[7]r3.S1 → S2.S1.

    Raises:
        ValueError: It isn't an id.
    """
    return ".".join(level.step for level in parse_id(step))


def root_of(step: str) -> str:
    """Return the id of the step of the plan that an id belongs to: S2[7]r3.S1 → S2.

    Raises:
        ValueError: It isn't an id.
    """
    return parse_id(step)[0].step


def sort_key(step: str) -> tuple[tuple[int, ...], ...]:
    """Return a key that sorts ids as people count: S2, S2[1], S2[2], S2[10], S2r2, S3.

    Raises:
        ValueError: It isn't an id.
    """
    key: list[tuple[int, ...]] = []
    for level in parse_id(step):
        key.append((0, int(level.step[1:])))
        if level.items:
            key.append((1, *level.items))
        if level.round:
            key.append((2, level.round))
    return tuple(key)


def _written(*levels: IdLevel) -> str:
    text = ".".join(map(str, levels))
    for level in levels:
        if any(not 1 <= number <= _MOST for number in level.items) or level.round > _MOST:
            raise ValueError(f"{text[:MAX_ID]} has a number that isn't from 1 to {_MOST:,}")
    if len(text) > MAX_ID:
        raise ValueError(f"an id has at most {MAX_ID} characters: {text[:MAX_ID]}…")
    return text
