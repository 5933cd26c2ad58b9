"""Questions whose answer is a table, and the right tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from .scoring import Column, Row
from .world import DISTRICTS, World

__all__ = ["SHAPES", "UNKNOWN", "Question", "hops", "listed", "make_questions", "named"]

Shape = Literal["wide", "deep", "mixed", "narrow"]
SHAPES: tuple[Shape, ...] = ("wide", "deep", "mixed", "narrow")
UNKNOWN = "unknown"
HEAD, BIRTHPLACE, RIVER = "head", "birthplace of the head", "river of the birthplace of the head"
_NUMBERS = ("employees", "tonnes", "population of the town")


@dataclass(frozen=True, slots=True)
class Question:
    """A table that is wanted.

    Attributes:
        text: The question as a person asks it: the objective.
        columns: What is wanted of each row beside its name.
        rows: The right rows; the first column is the name.
    """

    id: str
    shape: Shape
    text: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def hops(column: str) -> tuple[str, ...]:
    """Return the attributes to follow one after another: "river of the town" is town, river."""
    return tuple(reversed(column.split(" of the ")))


def make_questions(world: World, seed: int) -> list[Question]:
    """Return two questions of each shape."""
    rng = Random(seed)
    big, middle, small = DISTRICTS
    five = ("founded", "employees", "tonnes", "town", HEAD)
    chain = (HEAD, BIRTHPLACE, RIVER)
    lists = world.lists
    several = rng.sample(lists["foundries", middle], 6)
    one = rng.sample(lists["quarries", big], 1)
    single = rng.sample(lists["dairies", middle], 1)
    return [
        listed("wide-1", "wide", world, ("foundries", big), five),
        listed("wide-2", "wide", world, ("dairies", big), five),
        named("deep-1", "deep", world, several, chain),
        named("deep-2", "deep", world, one, (*chain, "population of the birthplace of the head")),
        listed("mixed-1", "mixed", world, ("dairies", middle), ("employees", BIRTHPLACE)),
        listed(
            "mixed-2", "mixed", world, ("quarries", middle), ("founded", "population of the town")
        ),
        named("narrow-1", "narrow", world, single, ("founded", "town")),
        listed("narrow-2", "narrow", world, ("dairies", small), ("founded", "employees")),
    ]


def listed(
    name: str, shape: Shape, world: World, of: tuple[str, str], columns: Sequence[str]
) -> Question:
    """Return the question for all works of a trade in a district."""
    text = f"Make a table of all {of[0]} in {of[1]}. {_columns(columns)}"
    return _question(name, shape, world, text, world.lists[of], columns)


def named(
    name: str, shape: Shape, world: World, names: Sequence[str], columns: Sequence[str]
) -> Question:
    """Return the question for works that are named."""
    text = f"Make a table of these works: {'; '.join(names)}. {_columns(columns)}"
    return _question(name, shape, world, text, names, columns)


def _columns(columns: Sequence[str]) -> str:
    return f"Columns: name; {'; '.join(columns)}."


def _question(
    name: str,
    shape: Shape,
    world: World,
    text: str,
    names: Sequence[str],
    columns: Sequence[str],
) -> Question:
    rows = tuple(
        {"name": each} | {column: _right(world, each, column) for column in columns}
        for each in names
    )
    compared = tuple(
        Column(each, "number_near" if each in _NUMBERS else "exact") for each in columns
    )
    return Question(name, shape, text, compared, rows)


def _right(world: World, name: str, column: str) -> str:
    for attribute in hops(column):
        if (name := world.facts.get((name, attribute), UNKNOWN)) == UNKNOWN:
            return UNKNOWN
    return name
