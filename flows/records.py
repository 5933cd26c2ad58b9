"""What a run has found out so far, step by step."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import Category
from ..parl.metrics import StepRun, critical_path, slacks
from ..result import Attempt, StepResult, excerpt
from ..runs import RunFolder
from .compile import CompiledPlan, CompiledStep
from .events import StepStatus

__all__ = ["StepRecord", "frontier", "keep", "step_result", "step_results", "step_runs"]


@dataclass(slots=True)
class StepRecord:
    """One step's history.

    Attributes:
        step: As it is now: a step that is replaced or given to somebody else changes.
        planned: As it was in the plan.
        revision: How often it was replaced.
        best: The artifact that got furthest through the gates so far, as `progress` says.
        states: The Prefect states that whatever comes next waits for.
    """

    step: CompiledStep
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    revision: int = 0
    best: str = ""
    progress: tuple[bool, int] = (False, 0)
    states: tuple[State[Any], ...] = ()
    text: str | None = None
    output_ref: str | None = None
    category: Category | None = None
    reason: str = ""
    planned: CompiledStep = field(init=False)

    def __post_init__(self) -> None:
        self.planned = self.step

    @property
    def change(self) -> str:
        """How it became another step than planned, in words; "" if it didn't."""
        mine = [one for one in self.attempts if one.revision == self.revision]
        given = any(one.agent != self.step.agent for one in mine)
        ways = ["replaced"] if self.revision else []
        return ", ".join([*ways, f"given to {self.step.agent}"] if given else ways)

    @property
    def before(self) -> str:
        """Who was to do what before it changed; "" if it didn't."""
        planned = self.planned
        return excerpt(f"{planned.agent}: {planned.prompt}") if self.change else ""

    def note(self, **found: object) -> None:
        """Add to the last decision what came of it."""
        last = self.attempts[-1]
        if last.decision is not None:
            decision = last.decision.model_copy(update=found)
            self.attempts[-1] = last.model_copy(update={"decision": decision})


def step_runs(records: Sequence[StepRecord]) -> tuple[StepRun, ...]:
    """Return what was measured of the steps that ran, in the plan's order."""
    return tuple(
        StepRun(
            id=record.step.id,
            upstream=record.step.upstream,
            started_at=record.attempts[0].started_at,
            ended_at=record.attempts[-1].ended_at,
            work_s=sum(attempt.duration_s for attempt in record.attempts),
            calls=sum(attempt.usage.requests for attempt in record.attempts),
        )
        for record in records
        if record.attempts
    )


def frontier(plan: CompiledPlan, records: Mapping[str, StepRecord]) -> tuple[StepRecord, ...]:
    """Return the succeeded steps that no other succeeded step reads: what an answer is made of."""
    done = [record for record in records.values() if record.text is not None]
    if plan.final_step is not None and records[plan.final_step].text is not None:
        return (records[plan.final_step],)
    read = {name for record in done for name in record.step.upstream}
    return tuple(record for record in done if record.step.id not in read)


def step_results(
    records: Sequence[StepRecord], statuses: Mapping[str, StepStatus]
) -> tuple[StepResult, ...]:
    """Write down how every step ended, or how far it is in a run that was left early."""
    runs = step_runs(records)
    slack = slacks(runs)
    path = critical_path(runs)
    return tuple(
        step_result(
            record,
            statuses[record.step.id],
            slack_s=slack.get(record.step.id),
            critical=record.step.id in path,
        )
        for record in records
    )


def step_result(
    record: StepRecord,
    status: StepStatus,
    *,
    slack_s: float | None = None,
    critical: bool = False,
) -> StepResult:
    """Write down how a step ended; what isn't over is `unfinished`."""
    return StepResult(
        id=record.step.id,
        agent=record.step.agent,
        prompt=record.step.prompt,
        change=record.change,
        planned=record.before,
        status="unfinished" if status in ("waiting", "ready", "running") else status,
        reason=record.reason,
        category=record.category,
        attempts=tuple(record.attempts),
        output_ref=record.output_ref,
        excerpt=excerpt(record.text or ""),
        slack_s=slack_s,
        critical=critical,
    )


_logger = logging.getLogger(__name__)


def keep(run: RunFolder, record: StepRecord, status: StepStatus) -> None:
    """Write down how far a step is, with its attempts, their gates and decisions.

    It is for people alone: what a resumed run needs is in Prefect's cache.
    """
    try:
        run.write_step(step_result(record, status))
    except OSError as error:  # a full disk costs the trail, not the step
        _logger.warning("How far %s is could not be written down: %s", record.step.id, error)
