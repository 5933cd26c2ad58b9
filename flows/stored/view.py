"""A stored run as its pages are made from it; without a Prefect server, and without secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from pydantic import ValidationError

from ...errors import RunDamagedError
from ...events.log import EVENTS
from ...parl.metrics import StepRun, critical_path, measure, slacks
from ...result import Cost, Planning, Recall, StepResult, SwarmResult
from ...runs import ACCOUNTS, RunFolder
from ...tasks.report.masked import masked
from ...tasks.report.view import RunView, StepView
from ...toolsets.artifacts import artifacts_of
from ...toolsets.calling.masking import secrets_in
from ..bounds.accounts import Accounts
from ..events import UNFINISHED, StepStatus
from .ended_early import ended_early
from .texts import attempt_views
from .why import why_of

__all__ = ["SHOWN_CHARS", "output_of", "secrets_of", "view_of", "view_of_result"]

SHOWN_CHARS = 200_000
"""Characters of an output that a view has; pages show fewer."""

_Planned = Mapping[str, Any]


def view_of(run: RunFolder, *, is_running: bool = False) -> RunView:
    """Read a run's view; the values of the environment's keys are masked in it.

    Args:
        run: The run's folder.
        is_running: Whether a process works on it; that shows in runs without a result alone.

    Raises:
        RunDamagedError: A file of the run can't be read.
    """
    if (result := run.result()) is not None:
        return view_of_result(run, result)
    plan = run.read_json("plan.json")
    view = _unfinished(run, _planned_steps(plan, None), plan, is_running)
    return masked(view, _secrets_of_run(run))


def view_of_result(run: RunFolder, result: SwarmResult) -> RunView:
    """Return the view of a run that has ended, masked likewise.

    Args:
        run: The run's folder. What it lacks, or if there is none, the view lacks.
        result: How the run ended.

    Raises:
        RunDamagedError: A file of the run can't be read.
    """
    plan = run.read_json("plan.json")
    view = _ended(run, result, _planned_steps(plan, result), plan)
    return masked(view, _secrets_of_run(run))


def _secrets_of_run(run: RunFolder) -> tuple[str, ...]:
    return secrets_of(cast("_Planned", run.about().get("options") or {}).get("key_env"))


def secrets_of(key_env: str | None) -> tuple[str, ...]:
    """Return the values in the environment that no page may show.

    Args:
        key_env: The variable that a run's key was taken from, if it was named.
    """
    own = os.environ.get(key_env, "") if key_env else ""
    return (*secrets_in(os.environ), *([own] if own else []))


def output_of(run: RunFolder, step: str) -> tuple[str | None, int]:
    """Return what a step made, cut if it is long, and the characters of the whole."""
    text = run.read(f"outputs/{step}.txt")
    return (None, 0) if text is None else (text[:SHOWN_CHARS], len(text))


def _ended(
    run: RunFolder, result: SwarmResult, planned: Mapping[str, _Planned], plan: _Planned
) -> RunView:
    statuses: dict[str, StepStatus] = {step.id: _status(step) for step in result.steps}
    return RunView(
        run_id=result.run_id,
        flow_run_id=result.flow_run_id,
        objective=result.plan.objective,
        status=result.status,
        answer=result.answer,
        problem=result.problem,
        steps=tuple(_step(run, step, planned, statuses, plan) for step in result.steps),
        planning=result.planning,
        metrics=result.metrics,
        cost=result.cost,
        recall=result.recall,
        taught=result.taught,
        time=result.time,
        began_at=_began_at(run),
        ended_at=_ended_at(run),
    )


def _unfinished(
    run: RunFolder, planned: Mapping[str, _Planned], plan: _Planned, is_running: bool
) -> RunView:
    begun = {step.id: step for step in run.steps()}
    known = [begun.get(name) or _unbegun(name, planned[name]) for name in planned]
    statuses = _statuses(known, planned, is_running)
    runs = [_measured(step, planned) for step in known if step.attempts]
    slack, path = slacks(runs), critical_path(runs)
    steps = [
        step.model_copy(update={"slack_s": slack.get(step.id), "critical": step.id in path})
        for step in known
    ]
    about = run.about()
    return RunView(
        run_id=run.run_id,
        flow_run_id=str(about.get("flow_run_id", "")),
        objective=str(about.get("objective", "")),
        status="running" if is_running else "unfinished",
        answer="",
        problem="" if is_running else _goes_on(run),
        steps=tuple(_step(run, step, planned, statuses, plan) for step in steps),
        planning=_planning(run),
        metrics=measure(runs, 0) if runs else None,
        cost=Cost.of(Accounts.of(run.lines(ACCOUNTS)).usage),
        recall=_recall(run, plan),
        began_at=_began_at(run),
        ended_at=None if is_running else _ended_at(run),
    )


def _goes_on(run: RunFolder) -> str:
    if why := ended_early(run):
        return f"It ended early: {why} Go on with: prefect-swarm resume {run.run_id}"
    return "The run has not ended. If nothing runs it any more: prefect-swarm resume " + run.run_id


def _planned_steps(plan: _Planned, result: SwarmResult | None) -> dict[str, _Planned]:
    """The steps as they were compiled; or, where that is gone, as the result's plan has them."""
    steps = cast("list[_Planned]", plan.get("steps", []))
    if steps or result is None:
        return {str(step["id"]): step for step in steps}
    return {
        step.id: {
            "id": step.id,
            "agent": step.agent,
            "prompt": step.prompt,
            "upstream": step.depends_on,
            "output": {"kind": step.output.kind},
            "optional": step.optional,
            "inputs": step.inputs,
        }
        for step in result.plan.steps
    }


def _unbegun(name: str, planned: _Planned) -> StepResult:
    return StepResult(
        id=name,
        agent=str(planned.get("agent", "")),
        prompt=str(planned.get("prompt", "")),
        status="unfinished",
    )


def _step(
    run: RunFolder,
    step: StepResult,
    planned: Mapping[str, _Planned],
    statuses: Mapping[str, StepStatus],
    plan: _Planned,
) -> StepView:
    own = planned.get(step.id, {})
    upstream = _upstream(own)
    output, chars = output_of(run, step.id)
    status = statuses[step.id]
    reason = step.taken_from.words if step.taken_from else step.reason
    return StepView(
        result=step if step.prompt else step.model_copy(update={"prompt": own.get("prompt", "")}),
        upstream=upstream,
        status=status,
        why=why_of(tuple(name for name in upstream if name in statuses), statuses, status, reason),
        kind=str(own.get("output", {}).get("kind", "text")),
        optional=bool(own.get("optional")),
        reads=_reads(run, own, upstream, plan),
        attempts=attempt_views(run, step, output),
        output=output,
        output_chars=chars,
        files=tuple(artifacts_of(run, step)),
    )


def _reads(
    run: RunFolder, planned: _Planned, upstream: Sequence[str], plan: _Planned
) -> tuple[tuple[str, int], ...]:
    given = {str(name): len(str(text)) for name, text in plan.get("inputs", [])}
    names = planned.get("inputs")
    if names is None:
        names = [] if upstream else list(given)
    inputs = [(str(name), given.get(name, 0)) for name in names]
    made = ((name, output_of(run, name)) for name in upstream)
    return (*inputs, *((name, chars) for name, (text, chars) in made if text is not None))


def _upstream(planned: _Planned) -> tuple[str, ...]:
    return tuple(map(str, planned.get("upstream", ())))


def _status(step: StepResult) -> StepStatus:
    return "waiting" if step.status == "unfinished" else step.status


def _statuses(
    steps: Sequence[StepResult], planned: Mapping[str, _Planned], is_running: bool
) -> dict[str, StepStatus]:
    """How far each step is, as far as files show: what runs just now may only be ready."""
    statuses: dict[str, StepStatus] = {step.id: _status(step) for step in steps}
    for step in steps:
        above = (statuses.get(name, "succeeded") for name in _upstream(planned[step.id]))
        if step.status == "unfinished" and not any(each in UNFINISHED for each in above):
            statuses[step.id] = "running" if is_running and step.attempts else "ready"
    return statuses


def _measured(step: StepResult, planned: Mapping[str, _Planned]) -> StepRun:
    return StepRun(
        id=step.id,
        upstream=_upstream(planned[step.id]),
        started_at=step.attempts[0].started_at,
        ended_at=step.attempts[-1].ended_at,
        work_s=sum(attempt.duration_s for attempt in step.attempts),
        calls=sum(attempt.usage.requests for attempt in step.attempts),
        wait_s=sum(attempt.queue_s for attempt in step.attempts),
    )


def _planning(run: RunFolder) -> Planning | None:
    with suppress(RunDamagedError, ValidationError, KeyError, TypeError):
        return Planning.model_validate(run.read_json("planned.json")["planned"]["planning"])
    return None


def _recall(run: RunFolder, plan: _Planned) -> Recall | None:
    name = f"recall-{plan['edits']}.json" if plan.get("edits") else "recall.json"
    with suppress(RunDamagedError, ValidationError, KeyError):
        if kept := run.read_json(name)["recall"]:
            return Recall.model_validate(kept)
    return None


def _began_at(run: RunFolder) -> float:
    began = run.about().get("started_at")
    return float(began) if isinstance(began, int | float) else 0.0


def _ended_at(run: RunFolder) -> float | None:
    """When the last process left the run; None if that isn't known."""
    ends = [line.get("at") for line in run.lines(EVENTS) if line.get("kind") == "finished"]
    return float(ends[-1]) if ends and isinstance(ends[-1], int | float) else None
