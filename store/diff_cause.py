"""Why one run cost more, or took longer, than another: its largest cause, in a sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..data_types import Frozen
from ..text import dollars, duration, one_line, plural

__all__ = ["Figure", "StepDiff", "largest_cause"]

Figure = int | float | None
_Pair = tuple[Figure, Figure]


class StepDiff(Frozen):
    """How a step went in both runs; a status is "" where a run doesn't have the step.

    Attributes:
        models: The model of the last attempt; "" where a run made none.
        taken_from: The run that had done it, where it was taken over.
        usd: Dollars; None where no price is known, or it made no calls.
        calls: Calls of models.
        members: How many instances, rounds and inner steps made attempts.
        seconds: Seconds of work.
        summaries: What its members came to, where it has some; their attempts are its own here.
    """

    step: str
    statuses: tuple[str, str]
    models: tuple[str, str]
    taken_from: tuple[str, str]
    attempts: tuple[int, int]
    tokens: tuple[int, int]
    seconds: tuple[float, float]
    summaries: tuple[str, str] = ("", "")
    usd: tuple[Figure, Figure] = (None, None)
    calls: tuple[int, int] = (0, 0)
    members: tuple[int, int] = (0, 0)


_LEAST_SHARE = 0.02
"""Of the first run's figure; what differs by less is the same."""
_LEAST_S = 1.0


def largest_cause(
    runs: tuple[str, str], figures: Mapping[str, _Pair], steps: Sequence[StepDiff]
) -> str:
    """Say in a sentence which step makes most of the difference in dollars, tokens or time.

    Dollars come first, where both runs have them; then tokens, then seconds of work. "" where a run
    has no result, or none of these differs by a fiftieth.

    Args:
        runs: Ids of both runs.
        figures: Their totals: `money_usd`, `tokens` and `work_s`.
        steps: How each step went in both.
    """
    for unit, name in (("usd", "money_usd"), ("tokens", "tokens"), ("seconds", "work_s")):
        before, after = figures.get(name, (None, None))
        if before is None or after is None:
            continue
        least = max(_LEAST_SHARE * before, _LEAST_S if unit == "seconds" else 0.0)
        if abs(after - before) > least:
            return _sentence(runs[1], unit, before, after - before, steps)
    return ""


def _sentence(run: str, unit: str, before: float, change: float, steps: Sequence[StepDiff]) -> str:
    sign = 1 if change > 0 else -1
    share = f" ({change / before:+.0%})" if before else ""
    verb = {"usd": "cost", "tokens": "took", "seconds": "worked"}[unit]
    more = "more" if sign > 0 else "less"
    start = f"{run} {verb} {_amount(unit, abs(change))} {more}{share}"
    # In the direction of the whole: what a step saved doesn't explain why a run cost more.
    parts = [sign * _change(step, unit) for step in steps]
    rest, most = abs(change) - sum(parts), max(parts, default=0.0)
    if max(rest, most) <= 0:
        return f"{start}."
    if rest > most:
        return f"{start}, most of it for the plan, the turns and the answer."
    step = steps[parts.index(most)]
    was, now = (_amount(unit, each) for each in _values(step, unit))
    why = _why(step)
    return f"{start}, most of it by {step.step} ({was} → {now}){f': {why}' if why else ''}."


def _change(step: StepDiff, unit: str) -> float:
    before, after = _values(step, unit)
    return after - before


def _values(step: StepDiff, unit: str) -> tuple[float, float]:
    match unit:
        case "usd":
            return (step.usd[0] or 0.0, step.usd[1] or 0.0)
        case "tokens":
            return step.tokens
        case _:
            return step.seconds


def _amount(unit: str, value: float) -> str:
    match unit:
        case "usd":
            return dollars(value)
        case "tokens":
            return f"{plural(round(value), 'token')}"
        case _:
            return duration(value)


def _why(step: StepDiff) -> str:
    """Say what differs in a step that can have made the difference; "" if nothing that is known."""
    if not all(step.statuses):
        return f"only the {_which(is_second=bool(step.statuses[1]))} run has it"
    if any(step.taken_from) and not all(step.taken_from):
        return f"the {_which(is_second=bool(step.taken_from[1]))} run took it over"
    reasons: list[str] = []
    if step.members[0] != step.members[1]:
        reasons.append(f"{step.members[1]:,} members instead of {step.members[0]:,}")
    elif step.attempts[0] != step.attempts[1]:
        reasons.append(f"{plural(step.attempts[1], 'attempt')} instead of {step.attempts[0]:,}")
    if all(step.models) and step.models[0] != step.models[1]:
        now, was = (one_line(each, 60) for each in reversed(step.models))
        reasons.append(f"{now} instead of {was}")
    if not reasons and (calls := step.calls)[0] != calls[1]:
        reasons.append(f"{plural(calls[1], 'call')} instead of {calls[0]:,}")
    return " and ".join(reasons)


def _which(*, is_second: bool) -> str:
    return "second" if is_second else "first"
