"""Expand a pattern into one objective and its plan: draws, templates, steps."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from ...errors import InputError, PlanError
from ...tasks.planner.line_format import GRAMMAR_STEPS, read_lines, write_lines
from .blocks import COUNT
from .pattern import (
    Alternatives,
    Pattern,
    StepPattern,
    Template,
    TemplateSlot,
    Variable,
    WordEntry,
    WordList,
)
from .wording import IMPERATIVES, MarkedText, change, has_capital, pick, separator

__all__ = [
    "MAX_WORDS",
    "ExampleChoices",
    "Expansion",
    "MisfitError",
    "Renderer",
    "Value",
    "draw",
    "draw_choices",
    "expand",
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


_COUNTS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
"""


class Renderer:
    """Renders the texts of one example.

    Attributes:
        used_variables: Names of the variables rendered so far.
    """

    def __init__(self, choices: ExampleChoices) -> None:
        self._choices = choices
        self.used_variables: set[str] = set()

    def write(
        self, template: Template, rng: random.Random, at: Mapping[str, int] | None = None
    ) -> MarkedText:
        """Render a template; `at` has the index of each variable that is a single entry here."""
        marked = MarkedText()
        self._write(marked, template, rng, at or {})
        marked.tidy()
        return marked

    def _write(
        self, marked: MarkedText, template: Template, rng: random.Random, at: Mapping[str, int]
    ) -> None:
        for node in template:
            if isinstance(node, str):
                marked.text += node
            elif isinstance(node, Alternatives):
                self._write(marked, rng.choice(node.options), rng, at)
            elif node.body is not None:
                self._write_list(marked, node, node.body, rng, at)
            else:
                self._write_slot(marked, node, at)

    def _write_list(
        self,
        marked: MarkedText,
        slot: TemplateSlot,
        body: Template,
        rng: random.Random,
        at: Mapping[str, int],
    ) -> None:
        value = self._value(slot)
        # One seed for all entries, so that they take the same alternatives.
        seed = rng.getrandbits(32)
        places = pick(slot.filters, tuple(range(len(value.entries))), None)
        for index, place in enumerate(places):
            marked.text += self._separator(slot, index, len(places))
            start = len(marked.text)
            self._write(marked, body, seeded_random(seed), {**at, value.variable.root: place})
            if has_capital(slot.filters, first=index == 0):
                marked.capitalise(start)

    def _write_slot(self, marked: MarkedText, slot: TemplateSlot, at: Mapping[str, int]) -> None:
        value = self._value(slot)
        place = at.get(value.variable.root) if value.variable.is_plural else 0
        if slot.number and place is not None:
            marked.add_slot(str(place + 1))
        elif "n" in slot.filters:
            count = len(value.entries)
            count_text = str(count) if self._choices.digits else _COUNTS.split()[count]
            marked.add_slot(change(slot.filters, count_text), count_text)
        else:
            texts = pick(slot.filters, value.texts(slot.field), place)
            for index, text in enumerate(texts):
                marked.text += self._separator(slot, index, len(texts))
                self._write_entry(
                    marked, slot, text, first=index == 0, inline=value.variable.inline
                )

    def _write_entry(
        self, marked: MarkedText, slot: TemplateSlot, text: str, *, first: bool, inline: bool
    ) -> None:
        filtered = change(slot.filters, text, first=first)
        if inline and _is_phrase(text):
            marked.text += filtered
        else:
            only_case = filtered.lower() == text.lower()
            marked.add_slot(filtered, text if only_case else filtered)

    def _separator(self, slot: TemplateSlot, index: int, count: int) -> str:
        return separator(slot.filters, index, count, serial_comma=self._choices.serial_comma)

    def _value(self, slot: TemplateSlot) -> Value:
        self.used_variables.add(slot.name)
        return self._choices.values[slot.name]


def _is_phrase(text: str) -> bool:
    """Say whether an alternative is a verb of the template, not the name of something."""
    return text.split()[0].lower() in IMPERATIVES and re.fullmatch(r"\w[a-z -]*", text) is not None


_TRIES = 40


class MisfitError(ValueError):
    """A random draw breaks a limit; another draw of the pattern may fit."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """One example drawn from a pattern.

    Attributes:
        plan: The numbered lines.
        needs: For each step, the indices of the steps it needs.
        objective_variables: Names of the variables in the objective.
        plan_variables: Names of the variables in the plan.
    """

    objective: MarkedText
    plan: str
    needs: tuple[tuple[int, ...], ...]
    objective_variables: frozenset[str]
    plan_variables: frozenset[str]


def expand(pattern: Pattern, rng: random.Random) -> Expansion:
    """Draw until a plan fits.

    Raises:
        InputError: None of many draws fits.
    """
    problem = ""
    for _ in range(_TRIES):
        try:
            return draw(pattern, rng)
        except MisfitError as error:
            problem = str(error)
    fix = "Shorten it, or run the check on its file."
    raise InputError(f"{pattern.location}: no draw of the pattern fits: {problem}.", fix)


def draw(pattern: Pattern, rng: random.Random) -> Expansion:
    """Draw once.

    Raises:
        MisfitError: The plan breaks a limit.
    """
    choices = draw_choices(pattern, rng)
    objective_renderer, plan_renderer = Renderer(choices), Renderer(choices)
    objective = objective_renderer.write(rng.choice(pattern.asks), rng)
    lines, needs = _write_plan(pattern, choices, plan_renderer, rng)
    plan = "\n".join(lines)
    if problem := objective_problem(objective.plain_text()) or plan_problem(
        plan, objective.plain_text()
    ):
        raise MisfitError(problem)
    return Expansion(
        objective,
        plan,
        tuple(needs),
        frozenset(objective_renderer.used_variables),
        frozenset(plan_renderer.used_variables),
    )


def _write_plan(
    pattern: Pattern, choices: ExampleChoices, plan_renderer: Renderer, rng: random.Random
) -> tuple[list[str], list[tuple[int, ...]]]:
    lines: list[str] = []
    all_needs: list[tuple[int, ...]] = []
    written: dict[str, list[tuple[dict[str, int], int]]] = {}
    steps = {step.label: step for step in pattern.steps}
    for step in pattern.steps:
        # One seed for all entries, so that they take the same alternatives.
        seed = rng.getrandbits(32)
        written[step.label] = []
        for place in _places(step, choices):
            needs = sorted(_needed_steps(step, place, steps, written))
            _check_needs_are_direct(needs, all_needs)
            written[step.label].append((place, len(lines)))
            all_needs.append(tuple(needs))
            lines.append(_write_line(len(lines) + 1, step, plan_renderer, seed, place, needs))
    return lines, all_needs


def _places(step: StepPattern, choices: ExampleChoices) -> Iterator[dict[str, int]]:
    counts = [range(len(choices.values[name].entries)) for name in step.loop_variables]
    for indices in product(*counts):
        yield dict(zip(step.loop_variables, indices, strict=True))


def _needed_steps(
    step: StepPattern,
    place: Mapping[str, int],
    steps: Mapping[str, StepPattern],
    written: Mapping[str, list[tuple[dict[str, int], int]]],
) -> Iterator[int]:
    link = step.loop_variables[-1] if step.is_chain else ""
    later = bool(link) and place[link] > 0
    if later:
        before = {**place, link: place[link] - 1}
        yield from (index for other, index in written[step.label] if other == before)
    for label in step.needs:
        if later and link not in steps[label].loop_variables:
            continue
        yield from _matching_steps(steps[label], place, written[label])


def _matching_steps(
    needed: StepPattern, place: Mapping[str, int], written: list[tuple[dict[str, int], int]]
) -> Iterator[int]:
    """Yield the steps of a label that share the place's entries; of a chain only its last step."""
    end = (
        needed.loop_variables[-1]
        if needed.is_chain and needed.loop_variables[-1] not in place
        else ""
    )
    last = max((other[end] for other, _ in written), default=0) if end else 0
    for other, index in written:
        agrees = all(place.get(name, entry) == entry for name, entry in other.items())
        if agrees and (not end or other[end] == last):
            yield index


def _check_needs_are_direct(needs: list[int], all_needs: list[tuple[int, ...]]) -> None:
    for need in needs:
        if indirect := set(needs).intersection(all_needs[need]):
            number, indirect_number = len(all_needs) + 1, min(indirect) + 1
            raise MisfitError(
                f"step {number} needs {need + 1} and {indirect_number}, which {need + 1} needs"
            )


def _write_line(
    number: int,
    step: StepPattern,
    plan_renderer: Renderer,
    seed: int,
    place: Mapping[str, int],
    needs: list[int],
) -> str:
    rng = seeded_random(seed)
    later = step.is_chain and place[step.loop_variables[-1]] > 0
    agent = plan_renderer.write(step.agent, rng, place).plain_text()
    prompt = plan_renderer.write(
        step.later_prompt if later else step.prompt, rng, place
    ).plain_text()
    if problem := name_problem(agent) or prompt_problem(prompt):
        raise MisfitError(f"line {step.line}: {problem}")
    needed = ", ".join(str(need + 1) for need in needs)
    return f"{number}. {agent}: {prompt}{f' (needs {needed})' if needed else ''}"
