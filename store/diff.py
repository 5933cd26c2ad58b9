"""Differences of two plans and of two runs."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import islice
from typing import Any

from ..data_types import Frozen
from ..plan.ids import is_step_id, root_of
from ..plan.task_ir import TaskIR
from .attempt import Attempt, Usage
from .diff_cause import Figure, StepDiff, largest_cause
from .result import Cost, Metrics
from .step import StepState

__all__ = [
    "MOST_LINES",
    "FieldChange",
    "PlanDifference",
    "RunDiff",
    "RunDifference",
    "StepChange",
    "StepDiff",
    "TextDifference",
    "compare_plans",
    "compare_runs",
    "compare_texts",
]


MOST_LINES = 200
"""Lines that a comparison shows."""
_MOST_COMPARED = 2000
_COLUMNS = 100
_MOST_CHARS = _MOST_COMPARED * _COLUMNS


class TextDifference(Frozen):
    """A unified diff of two texts; lines of more than 100 characters are broken between words.

    Attributes:
        is_same: Whether the texts are the same, to the character.
        lines: The diff, without the lines that name files; at most 200. None where the texts
            differ in white space alone, in long lines.
        left_out: Lines of the diff that are left out.
        is_cut: Whether the texts were compared in their first 2,000 lines alone.
    """

    is_same: bool
    lines: tuple[str, ...] = ()
    left_out: int = 0
    is_cut: bool = False


def compare_texts(before: str, after: str) -> TextDifference:
    """Return how the second text differs from the first."""
    if before == after:
        return TextDifference(is_same=True)
    old, new = _lines(before), _lines(after)
    # The comparison's time grows with the product of the lines.
    is_cut = max(len(old), len(new)) > _MOST_COMPARED
    diff = unified_diff(old[:_MOST_COMPARED], new[:_MOST_COMPARED], lineterm="")
    lines = list(islice(diff, 2, None))
    return TextDifference(
        is_same=False,
        lines=tuple(lines[:MOST_LINES]),
        left_out=max(0, len(lines) - MOST_LINES),
        is_cut=is_cut,
    )


def _lines(text: str) -> list[str]:
    return list(islice(_broken(text), _MOST_COMPARED + 1))


def _broken(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= _COLUMNS:
            yield line
        else:
            yield from textwrap.wrap(line[:_MOST_CHARS], _COLUMNS, break_on_hyphens=False) or [""]


_OF_AGENTS = ("system_prompt", "tier", "tools")
_NAMES = {"depends_on": "needs", "system_prompt": "instructions"}
_APART = ("agents", "steps", "inputs")


class FieldChange(Frozen):
    """A field that differs, with both values as text: words as they are, all else as JSON."""

    field: str
    before: str
    after: str


class StepChange(Frozen):
    """What differs in a step that both plans have."""

    step: str
    changes: tuple[FieldChange, ...]


class PlanDifference(Frozen):
    """What one plan has otherwise than another.

    Attributes:
        added: Ids of the steps that the second alone has, in its order.
        removed: Ids of the steps that the first alone has, in its order.
        changed: Steps under the same id in both, in the second's order.
        inputs: Names of the inputs that one alone has, or whose texts differ.
        fields: What differs in the plan as a whole.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[StepChange, ...] = ()
    inputs: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the plans are the same."""
        return not any((self.added, self.removed, self.changed, self.inputs, self.fields))


def compare_plans(before: TaskIR, after: TaskIR) -> PlanDifference:
    """Return how the second plan differs from the first.

    A step has its agent's instructions, tier and tools; an agent whom no step names doesn't count.
    """
    old, new = _steps(before), _steps(after)
    changed = (
        StepChange(step=name, changes=changes)
        for name, fields in new.items()
        if name in old and (changes := tuple(_changes(old[name], fields)))
    )
    names = {**before.inputs, **after.inputs}
    return PlanDifference(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(changed),
        inputs=tuple(n for n in names if before.inputs.get(n) != after.inputs.get(n)),
        fields=tuple(_changes(_whole(before), _whole(after))),
    )


def _steps(plan: TaskIR) -> dict[str, dict[str, Any]]:
    data = plan.model_dump(mode="json", by_alias=True)
    agents = {agent["name"]: agent for agent in data["agents"]}
    return {
        step["id"]: {
            **step,
            **{name: agents.get(step["agent"], {}).get(name) for name in _OF_AGENTS},
        }
        for step in data["steps"]
    }


def _whole(plan: TaskIR) -> dict[str, Any]:
    return plan.model_dump(mode="json", exclude=set(_APART))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name, value in after.items():
        if before.get(name) != value:
            field = _NAMES.get(name, name)
            yield FieldChange(field=field, before=_text(before.get(name)), after=_text(value))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class RunDiff(Frozen):
    """What is compared of a run.

    Attributes:
        status: That of its result; `unfinished` without one.
        answer: None without a result, as metrics and cost are.
    """

    run_id: str
    status: str
    plan: TaskIR
    answer: str | None = None
    steps: tuple[StepState, ...] = ()
    metrics: Metrics | None = None
    cost: Cost | None = None


class RunDifference(Frozen):
    """Two runs side by side; each pair has the first run's value first.

    Attributes:
        answer: None where a run has no result.
        metrics, cost: By their names; None where a run has no result, or no price is known.
        cause: What makes most of the difference in dollars, tokens or time, in a sentence; "" where
            these are alike.
    """

    runs: tuple[str, str]
    statuses: tuple[str, str]
    plan: PlanDifference
    steps: tuple[StepDiff, ...]
    answer: TextDifference | None
    metrics: dict[str, tuple[Figure, Figure]]
    cost: dict[str, tuple[Figure, Figure]]
    cause: str = ""


def compare_runs(before: RunDiff, after: RunDiff) -> RunDifference:
    """Return two runs side by side."""
    both = before.answer is not None and after.answer is not None
    found = RunDifference(
        runs=(before.run_id, after.run_id),
        statuses=(before.status, after.status),
        plan=compare_plans(before.plan, after.plan),
        steps=_steps_of_runs(before, after),
        answer=compare_texts(before.answer or "", after.answer or "") if both else None,
        metrics=_figures(Metrics, before.metrics, after.metrics),
        cost=_figures(Cost, before.cost, after.cost),
    )
    cause = largest_cause(found.runs, {**found.cost, **found.metrics}, found.steps)
    return found.model_copy(update={"cause": cause})


def _steps_of_runs(before: RunDiff, after: RunDiff) -> tuple[StepDiff, ...]:
    sides = [_with_members(run.steps) for run in (before, after)]
    planned = [*after.plan.steps, *before.plan.steps]
    names = dict.fromkeys(step.id for step in planned)
    counts = [_members(run.steps) for run in (before, after)]
    return tuple(
        _step(name, sides[0].get(name), sides[1].get(name)).model_copy(
            update={"members": (counts[0][name], counts[1][name])}
        )
        for name in names
    )


def _members(steps: Sequence[StepState]) -> Counter[str]:
    """Count the members of each step of the plan at which attempts were made."""
    return Counter(
        root_of(step.id) for step in steps if step.parent and step.attempts and is_step_id(step.id)
    )


def _with_members(steps: Sequence[StepState]) -> dict[str, StepState]:
    """Return the plan's own steps, by their ids, each with the attempts at its members."""
    attempts: dict[str, list[Attempt]] = {}
    for step in steps:
        if step.parent and is_step_id(step.id):
            attempts.setdefault(root_of(step.id), []).extend(step.attempts)
    return {
        step.id: step.model_copy(update={"attempts": (*step.attempts, *attempts.get(step.id, ()))})
        for step in steps
        if not step.parent
    }


def _step(name: str, before: StepState | None, after: StepState | None) -> StepDiff:
    return StepDiff(
        step=name,
        statuses=(_status(before), _status(after)),
        models=(_model(before), _model(after)),
        taken_from=(_origin(before), _origin(after)),
        attempts=(len(before.attempts) if before else 0, len(after.attempts) if after else 0),
        tokens=(_tokens(before), _tokens(after)),
        seconds=(_seconds(before), _seconds(after)),
        summaries=(before.summary if before else "", after.summary if after else ""),
        usd=(_usd(before), _usd(after)),
        calls=(before.calls if before else 0, after.calls if after else 0),
    )


def _status(step: StepState | None) -> str:
    return step.status if step else ""


def _model(step: StepState | None) -> str:
    return step.attempts[-1].model if step and step.attempts else ""


def _origin(step: StepState | None) -> str:
    return step.taken_from.run if step and step.taken_from else ""


def _tokens(step: StepState | None) -> int:
    return step.tokens if step else 0


def _usd(step: StepState | None) -> Figure:
    attempts = step.attempts if step else ()
    return sum((attempt.usage for attempt in attempts), Usage()).cost_usd


def _seconds(step: StepState | None) -> float:
    return step.work_s if step else 0.0


def _figures(
    kind: type[Metrics | Cost], before: Metrics | Cost | None, after: Metrics | Cost | None
) -> dict[str, tuple[Figure, Figure]]:
    sides: list[dict[str, Any]] = [side.model_dump() if side else {} for side in (before, after)]
    return {name: (sides[0].get(name), sides[1].get(name)) for name in kind.model_fields}
