"""Draw the random choices of one example: a value for every variable of a pattern."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..parsing.lists import WordEntry, WordList
from ..parsing.pattern import Pattern, Variable
from ..parsing.variables import COUNT

__all__ = ["ExampleChoices", "Value", "draw_choices"]

_NAMED = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Value:
    """A variable's value: entries of one list, and the names of their fields."""

    variable: Variable
    fields: tuple[str, ...]
    entries: tuple[WordEntry, ...]

    def texts(self, field: str) -> tuple[str, ...]:
        """Return the entries' texts, or one field of each."""
        index = self.fields.index(field) if field else 0
        return tuple(entry.values[index] for entry in self.entries)


@dataclass(frozen=True, slots=True)
class ExampleChoices:
    """The random choices of one example.

    Attributes:
        serial: Whether a list has a comma before its `and`.
        digits: Whether a list's length is written in digits.
    """

    values: Mapping[str, Value]
    serial_comma: bool = False
    digits: bool = False


def draw_choices(pattern: Pattern, rng: random.Random) -> ExampleChoices:
    """Draw every variable's value; no entry is drawn twice if there are enough."""
    values: dict[str, Value] = {}
    used: set[str] = set()
    for name, variable in pattern.variables.items():
        source = rng.choice(variable.lists)
        partner = values.get(variable.paired_with)
        count = len(partner.entries) if partner else rng.randint(variable.low, variable.high)
        entries = _draw_entries(source, variable, count, used, rng)
        values[name] = Value(variable, source.fields, entries)
        if not variable.inline and source.name != COUNT:
            used.update(entry.text.casefold() for entry in entries)
    for name, value in values.items():
        if value.variable.inline:
            values[name] = replace(value, entries=tuple(_fill_entries(value.entries, values)))
    return ExampleChoices(values, serial_comma=rng.random() < 0.35, digits=rng.random() < 0.5)


def _fill_entries(entries: Iterable[WordEntry], values: Mapping[str, Value]) -> Iterator[WordEntry]:
    """Fill in the values of other variables that the pattern's own entries name."""

    def value_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None or value.variable.is_plural:
            return match[0]
        return value.entries[0].text

    for entry in entries:
        yield WordEntry(tuple(_NAMED.sub(value_of, text) for text in entry.values))


def _draw_entries(
    source: WordList, variable: Variable, count: int, used: set[str], rng: random.Random
) -> tuple[WordEntry, ...]:
    if source.name == COUNT:
        return source.entries[:count]
    free = source.entries
    if not variable.inline:
        free = tuple(entry for entry in free if entry.text.casefold() not in used)
    if not variable.is_plural:
        return (rng.choice(free or source.entries),)
    if len(free) < count <= len(source.entries):
        free = source.entries
    if len(free) < count:
        # Only a variable paired with another may repeat entries: three tones for five texts.
        return tuple(rng.choice(source.entries) for _ in range(count))
    return tuple(rng.sample(free, count))
