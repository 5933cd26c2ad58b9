"""Drawing objectives within limits, by generators that depend on the seed alone."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ....errors import PlanError
from ....tasks.planner.adapter.line_format import GRAMMAR_STEPS, read_lines, write_lines
from ..parsing.lists import WordEntry, WordList
from ..parsing.pattern import Pattern, Variable
from ..parsing.variables import COUNT

__all__ = [
    "MAX_WORDS",
    "ExampleChoices",
    "Value",
    "draw_choices",
    "name_problem",
    "objective_problem",
    "plan_problem",
    "prompt_problem",
    "seeded_random",
]


def seeded_random(seed: int) -> random.Random:
    """Return a new random generator that shares no state with others."""
    return random.Random(seed)  # noqa: S311 (it chooses words, no secrets)


MAX_WORDS = 48
"""The most words of a prompt."""
_MAX_LETTERS = 40
_MAX_OBJECTIVE = 2000  # characters
_NAME = re.compile(r"[A-Z][A-Za-z0-9'&/.-]{0,14}(?: [A-Za-z0-9'&/.-]{1,15}){0,3}")
_FULL_STOP = re.compile(r"(?<!\betc)(?<!\.)\.$")
# A word that looks like `(needs`, or a number that the grammar can't write.
_BAD_WORD = re.compile(r"\(n.*|\(|[0-9].*\.|[0-9].*\.\..*")


def name_problem(name: str) -> str:
    """Check an agent's name."""
    if _NAME.fullmatch(name):
        return ""
    return f"{name!r} is not an agent's name: 1 to 4 words of at most 15 letters, the first of two"


def prompt_problem(prompt: str) -> str:
    """Check a step's prompt."""
    words = prompt.split()
    bad = [word for word in words if len(word) > _MAX_LETTERS or _BAD_WORD.fullmatch(word)]
    problems = (
        (not 2 <= len(words) <= MAX_WORDS, f"{len(words)} words, not 2 to {MAX_WORDS}"),
        (not prompt[:1].isupper(), "no capital at its beginning"),
        ("\n" in prompt, "a line break"),
        (bool(bad), f"the word {bad[0] if bad else ''!r}, which plans can't have"),
        (_FULL_STOP.search(prompt) is not None, "a full stop at its end"),
    )
    problem = next((message for applies, message in problems if applies), "")
    return f"the prompt {prompt!r} has {problem}" if problem else ""


def objective_problem(objective: str) -> str:
    """Check the objective's length."""
    fits = 0 < len(objective) <= _MAX_OBJECTIVE
    return "" if fits else f"the objective has {len(objective)} characters, not 1 to 2000"


def plan_problem(plan: str, objective: str) -> str:
    """Check that a plan can be read, and is the same when written again."""
    steps = len(plan.splitlines())
    if steps > GRAMMAR_STEPS:
        return f"{steps} steps are more than {GRAMMAR_STEPS}"
    try:
        read = read_lines(plan, objective)
        if len(read.steps) < steps:
            return f"two steps ask one agent the same: {plan!r}"
        return "" if write_lines(read) == plan else f"the plan reads back as another: {plan!r}"
    except PlanError as error:
        return error.problem


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
