"""What is done about steps that acted where a run fails for good: their undo calls, last first."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from ..errors import ApprovalNeededError, SwarmError
from ..plan.call import PlannedCall, call_words, filled_call
from ..plan.output import StepOutput
from ..store.approvals import Approvals
from ..store.attempt import excerpt
from ..store.events import UndoneEvent
from ..store.question import RunWaitingError
from ..store.result import Undone
from ..store.step import StepState
from ..tasks.context import task_context
from ..tasks.subagent.request import SubagentRequest
from ..toolsets.journal import returned_result, steps_begun
from .context import RunContext
from .event_log import call_sink
from .prefect_io.task_runs import states_of
from .subagents import ask_subagent

__all__ = ["describe_undone", "undo_steps"]

_SECONDS = 600.0
_BEGUN = "it failed after a call was begun: look whether that acted"


async def undo_steps(context: RunContext) -> tuple[Undone, ...]:
    """Undo what a run's steps did, in the reverse order of their ends; say what came of each.

    Each undo is journaled and made once, whichever process makes it. One that fails stops no other.

    Raises:
        RunWaitingError: A person has to decide about one first.
    """
    found: list[Undone] = []
    begun = await asyncio.to_thread(steps_begun, context.run)
    for record, undo in _to_undo(context.records.values(), begun):
        if (own := await _own_output(context, record)) is None:
            found.append(Undone(step=record.id, call=call_words(undo), problem=_BEGUN))
            continue
        undone = await _undo(context, record, undo, own)
        context.emit(UndoneEvent(step=record.id, call=undone.call, problem=undone.problem))
        found.append(undone)
    return tuple(found)


def describe_undone(undone: Iterable[Undone]) -> str:
    """Say what was undone and what is there still; "" where nothing acted."""
    known = [*undone]
    done = ", ".join(each.step for each in known if not each.problem)
    left = [f"{each.step} is not undone: {each.problem}" for each in known if each.problem]
    return " ".join([*([f"Undone: {done}."] if done else []), *left])


def _to_undo(
    records: Iterable[StepState], begun: Collection[str]
) -> list[tuple[StepState, PlannedCall]]:
    """Return the steps that acted, or may have, with what undoes them, the last to end first."""
    acted = [
        (record, record.step.undo)
        for record in records
        if record.step.undo and record.attempts and (record.output or record.id in begun)
    ]
    return sorted(acted, key=lambda each: each[0].attempts[-1].ended_at, reverse=True)


async def _own_output(context: RunContext, record: StepState) -> StepOutput | None:
    """Return what a step made; of a call that returned, that, if the step failed all the same."""
    if record.output is not None or record.step.call is None:
        return record.output
    text = await asyncio.to_thread(returned_result, context.run, record.id)
    kind = record.step.output.kind
    return None if text is None else StepOutput(name=record.id, kind=kind, text=text)


async def _undo(
    context: RunContext, record: StepState, undo: PlannedCall, own: StepOutput
) -> Undone:
    words = call_words(undo)
    read = (*context.outputs_read(record.step), own)
    try:
        call = filled_call(undo, read, record.step.about)
        words = call_words(call)
        problem = await _made(context, record, call)
    except ApprovalNeededError as error:
        asked = dict.fromkeys(error.questions)
        pending = Approvals(context.run).pending()
        raise RunWaitingError(
            context.run.run_id, tuple(each for each in pending if each.id in asked)
        ) from error
    except SwarmError as error:
        problem = str(error)
    return Undone(step=record.id, call=words, problem=excerpt(problem))


async def _made(context: RunContext, record: StepState, call: PlannedCall) -> str:
    """Make the call that undoes a step, and say why it failed; "" if it didn't."""
    request = SubagentRequest(
        key=f"{context.key}.{record.id}-undo.1",
        run=context.flow_run_id,
        # A file of the run is named after it.
        step=f"{record.id}-undo",
        agent=f"{call.toolset}.{call.tool}",
        attempt=1,
        tier="worker",
        model="",
        instructions="",
        prompt=f"Undo {record.id}: {call_words(call)}",
        tools=(call.toolset,),
        call=call,
        timeout_s=record.step.timeout_s or _SECONDS,
    )
    context.ledger.take_over(request)
    with task_context(on_tool_call=call_sink(context.emit, request)):
        _, result = await ask_subagent(
            context.ledger,
            request,
            name=f"{record.id}, undo",
            wait_for=states_of(record.task_runs),
        )
    return result.error if result.category else ""
