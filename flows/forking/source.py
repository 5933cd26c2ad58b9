"""A run that another one takes finished steps over from, as its folder tells it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from ...approvals.store import Approvals
from ...errors import InputError, RunDamagedError
from ...result import StepResult
from ...runs import RunFolder, find_run
from ...task_ir import TaskIR
from ..edited.applied import edited_source
from ..edited.current import rules_of
from ..stored.planned import StoredPlanning, load
from ..stored.restore import finished_step

__all__ = ["FinishedWork", "finished_work", "plan_done"]

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """What a run has finished so far, by which plan.

    Attributes:
        steps: The steps that have succeeded, by their ids.
    """

    run: RunFolder
    plan: TaskIR
    steps: Mapping[str, StepResult]


def finished_work(name: str) -> FinishedWork:
    """Return what a run has finished; it may still go on.

    Args:
        name: The run's id, or its flow run's.

    Raises:
        InputError: The run has no plan that can be read.
        RunNotFoundError: No such run is stored.
    """
    run = find_run(name)
    # The plan first: of a run that goes on, a step that ends meanwhile is one more.
    plan = plan_done(run)
    steps = {step: found for step in run.finished_steps() if (found := _finished(run, step))}
    return FinishedWork(run, plan, steps)


def plan_done(run: RunFolder) -> TaskIR:
    """Return the plan by which the steps of a run were done, without edits that wait.

    Raises:
        InputError: It has none yet, or none that can be read.
    """
    with suppress(RunDamagedError):
        if result := run.result():
            return result.plan
    kept = load(run, StoredPlanning)
    if kept is None:
        raise InputError(
            f"Run {run.run_id} has no plan yet.", f"See: prefect-swarm inspect {run.run_id}"
        )
    edits = Approvals(run).edits()[: _edits_applied(run)]
    return edited_source(kept.planned, edits, rules_of(run)).plan


def _edits_applied(run: RunFolder) -> int:
    with suppress(RunDamagedError):
        edits = run.read_json("plan.json").get("edits", 0)
        return edits if isinstance(edits, int) else 0
    return 0


def _finished(run: RunFolder, name: str) -> StepResult | None:
    try:
        found = finished_step(run, name)
    except RunDamagedError as error:
        _logger.warning("%s The step is done anew.", error.problem)
        return None
    return found[0] if found else None
