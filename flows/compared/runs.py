"""Two runs side by side. Pure."""

from __future__ import annotations

from typing import Any

from ...frozen import Frozen
from ...result import Cost, Metrics, StepResult
from ...task_ir import TaskIR
from .plans import PlanDifference, compare_plans
from .texts import TextDifference, compare_texts

__all__ = ["ComparedRun", "ComparedStep", "RunDifference", "compare_runs"]


Figure = int | float | None


class ComparedRun(Frozen):
    """What is compared of a run.

    Attributes:
        status: That of its result; `unfinished` without one.
        answer: None without a result, as metrics and cost are.
    """

    run_id: str
    status: str
    plan: TaskIR
    answer: str | None = None
    steps: tuple[StepResult, ...] = ()
    metrics: Metrics | None = None
    cost: Cost | None = None


class ComparedStep(Frozen):
    """How a step went in both runs; a status is "" where a run doesn't have the step.

    Attributes:
        models: The model of the last attempt; "" where a run made none.
        taken_from: The run that had done it, where it was taken over.
        seconds: Seconds of work.
    """

    step: str
    statuses: tuple[str, str]
    models: tuple[str, str]
    taken_from: tuple[str, str]
    attempts: tuple[int, int]
    tokens: tuple[int, int]
    seconds: tuple[float, float]


class RunDifference(Frozen):
    """Two runs side by side; each pair has the first run's value first.

    Attributes:
        answer: None where a run has no result.
        metrics, cost: By their names; None where a run has no result, or no price is known.
    """

    runs: tuple[str, str]
    statuses: tuple[str, str]
    plan: PlanDifference
    steps: tuple[ComparedStep, ...]
    answer: TextDifference | None
    metrics: dict[str, tuple[Figure, Figure]]
    cost: dict[str, tuple[Figure, Figure]]


def compare_runs(before: ComparedRun, after: ComparedRun) -> RunDifference:
    """Return two runs side by side."""
    both = before.answer is not None and after.answer is not None
    return RunDifference(
        runs=(before.run_id, after.run_id),
        statuses=(before.status, after.status),
        plan=compare_plans(before.plan, after.plan),
        steps=_steps(before, after),
        answer=compare_texts(before.answer or "", after.answer or "") if both else None,
        metrics=_figures(Metrics, before.metrics, after.metrics),
        cost=_figures(Cost, before.cost, after.cost),
    )


def _steps(before: ComparedRun, after: ComparedRun) -> tuple[ComparedStep, ...]:
    sides = [{step.id: step for step in run.steps} for run in (before, after)]
    planned = [*after.plan.steps, *before.plan.steps]
    names = dict.fromkeys(step.id for step in planned)
    return tuple(_step(name, sides[0].get(name), sides[1].get(name)) for name in names)


def _step(name: str, before: StepResult | None, after: StepResult | None) -> ComparedStep:
    return ComparedStep(
        step=name,
        statuses=(_status(before), _status(after)),
        models=(_model(before), _model(after)),
        taken_from=(_origin(before), _origin(after)),
        attempts=(len(before.attempts) if before else 0, len(after.attempts) if after else 0),
        tokens=(_tokens(before), _tokens(after)),
        seconds=(_seconds(before), _seconds(after)),
    )


def _status(step: StepResult | None) -> str:
    return step.status if step else ""


def _model(step: StepResult | None) -> str:
    return step.attempts[-1].model if step and step.attempts else ""


def _origin(step: StepResult | None) -> str:
    return step.taken_from.run if step and step.taken_from else ""


def _tokens(step: StepResult | None) -> int:
    return sum(attempt.usage.tokens for attempt in step.attempts) if step else 0


def _seconds(step: StepResult | None) -> float:
    return sum(attempt.duration_s for attempt in step.attempts) if step else 0.0


def _figures(
    kind: type[Metrics | Cost], before: Metrics | Cost | None, after: Metrics | Cost | None
) -> dict[str, tuple[Figure, Figure]]:
    sides: list[dict[str, Any]] = [side.model_dump() if side else {} for side in (before, after)]
    return {name: (sides[0].get(name), sides[1].get(name)) for name in kind.model_fields}
