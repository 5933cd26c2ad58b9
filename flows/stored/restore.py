"""Steps that had succeeded before: they are taken as they are, never asked again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from prefect.client.schemas.objects import State, StateDetails, StateType

from ...errors import RunDamagedError
from ...result import StepResult, TakenFrom
from ...runs import RunFolder
from ..compile import CompiledStep
from ..records import StepRecord

__all__ = ["finished_step", "restore_steps", "state_of"]

_logger = logging.getLogger("prefect_swarm.runs")


def restore_steps(run: RunFolder, records: Mapping[str, StepRecord]) -> frozenset[str]:
    """Give the records of the steps that had succeeded what is stored of them; return their ids."""
    restored: set[str] = set()
    for name, record in records.items():
        if found := _planned_step(run, record.step):
            step, artifact = found
            record.restore(step, artifact, _states(step.task_runs))
            restored.add(name)
    return frozenset(restored)


def finished_step(run: RunFolder, name: str) -> tuple[StepResult, str] | None:
    """Return a step that had succeeded, with its output; None if it had not.

    Raises:
        RunDamagedError: One of them can't be read.
    """
    step, artifact = run.step(name), run.read(f"outputs/{name}.txt")
    if artifact is None and step is not None and step.taken_from is not None:
        artifact = _fetched(run, name, step.taken_from)
    if step is None or artifact is None or step.status != "succeeded":
        return None
    if not step.attempts and step.taken_from is None:
        return None
    return step, artifact


def _fetched(run: RunFolder, name: str, origin: TakenFrom) -> str | None:
    """Return an output that was taken over and is gone, from the run that made it."""
    # Its name is one part of a path: `TakenFrom` sees to that.
    text = RunFolder(run.folder.parent / origin.run).read(f"outputs/{name}.txt")
    if text is not None:
        run.store(f"outputs/{name}.txt", text)
    return text


def _planned_step(run: RunFolder, planned: CompiledStep) -> tuple[StepResult, str] | None:
    """Return a step that had succeeded as it is planned, as it was changed, or in another run."""
    try:
        found = finished_step(run, planned.id)
    except RunDamagedError as error:
        _logger.warning("%s It is looked for in Prefect's results.", error.problem)
        return None
    if found is None:
        return None
    step, _ = found
    is_as_planned = (step.agent, step.prompt) == (planned.agent, planned.prompt)
    return found if is_as_planned or step.change or step.taken_from else None


def state_of(task_run: str) -> State[Any]:
    """Stand for a task run of an earlier process, in the edges that are drawn."""
    try:
        details = StateDetails(task_run_id=UUID(task_run))
    except ValueError:
        details = StateDetails()  # An edge that nothing can be drawn from.
    return State(type=StateType.COMPLETED, state_details=details)


def _states(task_runs: Sequence[str]) -> tuple[State[Any], ...]:
    return tuple(map(state_of, task_runs))
