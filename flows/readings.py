"""Readings: which steps of a plan read which inputs, how often, and what that comes to. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..inputs.pictures import reading_tokens
from ..models.names import FREE, Price
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.items import count_items, is_pattern, names_matching
from ..text import dollars, one_line, plural

__all__ = [
    "REPEATED_TOKENS",
    "InputReading",
    "input_lines",
    "input_tokens",
    "input_words",
    "readings",
    "repeated_lines",
]

REPEATED_TOKENS = 10_000
"""Tokens that instances read again, from which on a person is asked whether that is meant."""
_STEPS, _NAMES = 8, 3


@dataclass(frozen=True, slots=True)
class InputReading:
    """What a step reads of the inputs.

    Attributes:
        step: Its id; that of a step inside another one as `S2.S1`.
        tier: The tier that it begins on.
        model: The model that it names itself; "" for its tier's.
        shared: Names of the inputs that it reads, and each instance where it is for each.
        own: Names of the inputs of which each instance reads one.
        rows: The input of which each instance reads a row; "" if there is none.
        count: How many instances there are; None if that isn't known, 1 if it is not for each.
    """

    step: str
    tier: str
    model: str = ""
    shared: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    rows: str = ""
    count: int | None = 1


def readings(plan: CompiledPlan) -> list[InputReading]:
    """Return what each step reads of the inputs; steps that read none are left out."""
    return [*_readings(plan.steps, dict(plan.inputs), "", 1)]


def _readings(
    steps: Sequence[CompiledStep], inputs: Mapping[str, str], prefix: str, times: int | None
) -> Iterator[InputReading]:
    for step in steps:
        own, rows = _items_of(step, inputs)
        found = step.for_each is not None and isinstance(step.for_each.items, str)
        shared = step.inputs
        if shared is None:
            # Steps inside another one that need nothing read what that one reads.
            shared = () if step.upstream or found or prefix else tuple(inputs)
        count = _times(times, _count(step, inputs, own))
        if shared or own or rows:
            yield InputReading(
                prefix + step.id, step.tier, step.model, tuple(shared), own, rows, count
            )
        yield from _readings(step.plan, inputs, f"{prefix}{step.id}.", count)


def _items_of(step: CompiledStep, inputs: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    items = step.for_each.items if step.for_each else None
    if not isinstance(items, str) or step.source:
        return (), ""
    if items in inputs:
        return (), items
    return (tuple(names_matching(items, inputs)), "") if is_pattern(items) else ((), "")


def _count(step: CompiledStep, inputs: Mapping[str, str], own: tuple[str, ...]) -> int | None:
    if step.for_each is None:
        return 1
    if not isinstance(step.for_each.items, str):
        return len(step.for_each.items)
    return None if step.source else count_items(inputs, step.for_each) or len(own) or None


def _times(around: int | None, count: int | None) -> int | None:
    return None if around is None or count is None else around * count


def input_tokens(inputs: Mapping[str, str]) -> int:
    """Estimate the tokens that all inputs take, with their pictures."""
    return sum(map(reading_tokens, inputs.values()))


def input_words(inputs: Mapping[str, str]) -> str:
    """Count inputs and their tokens: `3 inputs of about 63 tokens`."""
    return f"{plural(len(inputs), 'input')} of about {plural(input_tokens(inputs), 'token')}"


def input_lines(plan: CompiledPlan) -> list[str]:
    """Say how many inputs a plan has and which step reads which; nothing if there are none."""
    inputs = dict(plan.inputs)
    if not inputs:
        return []
    found = readings(plan)
    tokens = {name: reading_tokens(text) for name, text in inputs.items()}
    lines = [f"{input_words(inputs)}."]
    lines += [_line(reading, tokens) for reading in found[:_STEPS]]
    if more := len(found) - _STEPS:
        lines += [f"{plural(more, 'more step')} read inputs."] if more > 0 else []
    read = {name for each in found for name in (*each.shared, *each.own, each.rows)}
    if unread := [name for name in inputs if name not in read]:
        lines.append(f"No step reads {_named(unread, len(inputs))}.")
    return lines


def _line(reading: InputReading, tokens: Mapping[str, int]) -> str:
    of = f"its {plural(reading.count, 'instance')}" if reading.count else "its instances"
    parts: list[str] = []
    if reading.own:
        about = sum(tokens[name] for name in reading.own) // len(reading.own)
        parts.append(f"one input of about {plural(about, 'token')} in each of {of}")
    elif reading.rows:
        parts.append(f"one row of {reading.rows} in each of {of}")
    if reading.shared:
        about = sum(tokens[name] for name in reading.shared)
        each = "" if parts or reading.count == 1 else f" in each of {of}"
        named = _named(reading.shared, len(tokens))
        parts.append(f"{named} of about {plural(about, 'token')}{each}")
    return f"{reading.step} reads {', and '.join(parts)}."


def _named(names: Sequence[str], of: int) -> str:
    if len(names) == of and of > _NAMES:
        return f"all {of:,} inputs"
    shown = ", ".join(one_line(name, 60) for name in names[:_NAMES])
    more = len(names) - _NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def repeated_lines(
    plan: CompiledPlan, model_of: Mapping[str, str], prices: Mapping[str, Price | None]
) -> list[str]:
    """Say which steps send the same inputs to each of many instances, and what that comes to.

    Nothing is said where that repeats fewer than `REPEATED_TOKENS` tokens.

    Args:
        plan: What would run.
        model_of: The model of each tier.
        prices: The price of each model; None where it isn't known.
    """
    inputs = dict(plan.inputs)
    lines: list[str] = []
    for reading in readings(plan):
        tokens = sum(reading_tokens(inputs[name]) for name in reading.shared)
        count = reading.count or 0
        if tokens * (count - 1) < REPEATED_TOKENS:
            continue
        model = reading.model or model_of[reading.tier]
        price = prices.get(model)
        usd = f", {dollars(price.input_usd * tokens * count)}" if price else ", price not known"
        lines.append(
            f"Each of the {count:,} instances of {reading.step} reads "
            f"{_named(reading.shared, len(inputs))}: {count:,} times {tokens:,} tokens, "
            f"{tokens * count:,} in all{'' if price == FREE else usd}."
        )
    return lines
