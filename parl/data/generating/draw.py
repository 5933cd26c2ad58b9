"""One example's choices: what every variable of a pattern holds."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..parsing.lists import WordEntry, WordList
from ..parsing.pattern import Pattern, Variable
from ..parsing.variables import COUNT

__all__ = ["Scene", "Value", "draw_scene"]

_NAMED = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Value:
    """What a variable holds: entries of one list, whose fields are named."""

    variable: Variable
    fields: tuple[str, ...]
    entries: tuple[WordEntry, ...]

    def texts(self, field: str) -> tuple[str, ...]:
        """Return the entries' texts, or one field of each."""
        index = self.fields.index(field) if field else 0
        return tuple(entry.values[index] for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Scene:
    """One example's choices.

    Attributes:
        serial: Whether a list has a comma before its `and`.
        digits: Whether a list's length is written in digits.
    """

    values: Mapping[str, Value]
    serial: bool = False
    digits: bool = False


def draw_scene(pattern: Pattern, rng: random.Random) -> Scene:
    """Choose what every variable holds; no list's entry is taken twice where there are enough."""
    values: dict[str, Value] = {}
    taken: set[str] = set()
    for name, variable in pattern.variables.items():
        source = rng.choice(variable.lists)
        like = values.get(variable.like)
        count = len(like.entries) if like else rng.randint(variable.low, variable.high)
        entries = _entries(source, variable, count, taken, rng)
        values[name] = Value(variable, source.fields, entries)
        if not variable.inline and source.name != COUNT:
            taken.update(entry.text.casefold() for entry in entries)
    for name, value in values.items():
        if value.variable.inline:
            values[name] = replace(value, entries=tuple(_filled(value.entries, values)))
    return Scene(values, serial=rng.random() < 0.35, digits=rng.random() < 0.5)


def _filled(entries: Iterable[WordEntry], values: Mapping[str, Value]) -> Iterator[WordEntry]:
    """Put what other variables hold where the pattern's own entries name them."""

    def held(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None or value.variable.plural:
            return match[0]
        return value.entries[0].text

    for entry in entries:
        yield WordEntry(tuple(_NAMED.sub(held, text) for text in entry.values))


def _entries(
    source: WordList, variable: Variable, count: int, taken: set[str], rng: random.Random
) -> tuple[WordEntry, ...]:
    if source.name == COUNT:
        return source.entries[:count]
    free = source.entries
    if not variable.inline:
        free = tuple(entry for entry in free if entry.text.casefold() not in taken)
    if not variable.plural:
        return (rng.choice(free or source.entries),)
    if len(free) < count <= len(source.entries):
        free = source.entries
    if len(free) < count:
        # Only entries that go along with another variable's may repeat: three tones for five texts.
        return tuple(rng.choice(source.entries) for _ in range(count))
    return tuple(rng.sample(free, count))
