"""Steps that join outputs without a model: what is joined, and the candidate that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import Category
from ..metrics.clock import run_time
from ..plan.collect import Joined, collect
from ..plan.schedule_events import Launch
from ..store.step import StepState
from ..tasks.subagent.request import SubagentResult
from .candidate import Candidate, Candidates
from .context import RunContext
from .request import attempt_request

__all__ = ["collect_candidate"]


async def collect_candidate(
    context: RunContext,
    candidates: Candidates,
    record: StepState,
    launch: Launch,
    states: Sequence[State[Any] | None],
) -> Candidate:
    """Join what a step reads, and have its gates look at it.

    Args:
        states: The states of the task runs that made what is joined.
    """
    step, started = record.step, run_time()
    how = step.collect or "list"
    read = (record for name in step.upstream for record in context.read_of(name))
    joined = [each for record in read if (each := _joined(record)) is not None]
    made = collect(how, joined, step.output)
    record.summarise("; ".join(made.notes))
    result = SubagentResult(
        text=made.text,
        extraction="collect",
        model="",
        started_at=started,
        ended_at=run_time(),
        category=Category.FORMAT if made.problem else None,
        error=made.problem,
    )
    before = tuple(state for state in states if state is not None)
    candidate = Candidate(attempt_request(context, record, launch, None), result, None, before)
    if made.problem or not before:
        return candidate
    return await candidates.check(step, candidate, f"attempt {launch.attempt}")


def _joined(record: StepState) -> Joined | None:
    """Return what a step or an instance made, or why it has nothing; None if it isn't over."""
    if (output := record.output) is not None:
        return Joined(record.id, record.label, output.kind, output.text)
    if record.status in ("failed", "skipped"):
        return Joined(record.id, record.label, failed=record.reason or record.status)
    return None
