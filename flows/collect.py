"""Steps that join outputs without a model: what is joined, and the candidate that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import Category
from ..metrics.clock import run_time
from ..plan.collect import Joined, collect
from ..plan.schedule import Launch
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
    joined = [each for name in step.upstream for each in _joined(context, name)]
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


def _joined(context: RunContext, name: str) -> Iterator[Joined]:
    """Yield what a step made; what each of its instances did, if it is for each."""
    record = context.records[name]
    if record.step.for_each is not None:
        for member in record.members:
            yield from _joined(context, member)
    elif (output := record.output) is not None:
        yield Joined(name, record.label, output.kind, output.text)
    elif record.status in ("failed", "skipped"):
        yield Joined(name, record.label, failed=record.reason or record.status)
