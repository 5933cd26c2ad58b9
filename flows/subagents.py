"""A subagent's task run, and what it took in the run's accounts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from prefect import Task
from prefect.client.schemas.objects import State
from pydantic_ai.exceptions import ModelAPIError

from ..errors import ApprovalNeededError, Category, SwarmError
from ..metrics.clock import run_time
from ..store.attempt import Usage
from ..tasks.context import AttemptBudget, task_context
from ..tasks.subagent.request import SubagentRequest, SubagentResult
from ..tasks.subagent.task import WAITING, subagent
from .bounds import Ledger
from .control import RunControl
from .prefect_io.task_runs import result_in, run_task

__all__ = ["ask_orchestrator", "ask_subagent"]


async def ask_orchestrator(
    ledger: Ledger,
    asked: Task[..., Any],
    request: SubagentRequest,
    *,
    name: str,
    wait_for: Sequence[State[Any] | None],
    control: RunControl | None = None,
    streaming: AbstractContextManager[None] | None = None,
) -> tuple[State[Any], Any]:
    """Ask the orchestrator, and settle what that took; return what `run_task` does.

    Args:
        ledger: The run's accounts; the request is reserved there already, under its key.
        asked: The task that asks it.
        request: What it is asked.
        name: The task run's name.
        wait_for: States that it comes after.
        control: Stops it where the run is cancelled; None where what is around it is stopped.
        streaming: Takes what the model writes; it ends before the call is settled.

    Raises:
        RunCancelledError: The run was cancelled first.
    """
    usage: Usage | None = None
    try:
        asking = run_task(asked, request, name=name, wait_for=wait_for)
        with streaming or nullcontext():
            state, content = await (control.unless_cancelled(asking) if control else asking)
        if (result := result_in(content)) is not None:
            usage = result.usage
    finally:
        ledger.settle(request.key, usage)
    return state, content


async def ask_subagent(
    ledger: Ledger,
    request: SubagentRequest,
    *,
    name: str,
    wait_for: Sequence[State[Any] | None],
    clock: Callable[[], float] = run_time,
    streaming: AbstractContextManager[None] | None = None,
) -> tuple[State[Any], SubagentResult]:
    """Ask a subagent, and settle what that took; a task run that breaks has a result, too.

    Args:
        ledger: The run's accounts; the request is reserved there already, under its key.
        name: The task run's name.
        wait_for: States that it comes after.
        streaming: Takes what the model writes; it ends before the call is settled.

    Raises:
        ApprovalNeededError: It waits for a person.
    """
    budget = AttemptBudget(partial(ledger.extend, request.key))
    usage, is_exact = None, False
    try:
        with task_context(budget=budget), streaming or nullcontext():
            state, result = await _ask(ledger, request, name, wait_for, clock)
        # The tokens that a model wrote before it was stopped from outside are not counted.
        is_exact = result.category is not Category.TIMEOUT and not state.is_cancelled()
        usage = result.usage
        is_lost = result.category is Category.INFRASTRUCTURE and not result.usage.requests
        if request.tools or is_lost:
            # Another process, or this one before it waited for a person, has paid for the rest;
            # and what was answered and couldn't be stored is paid for all the same.
            usage = budget.taken
    except ApprovalNeededError:
        usage, is_exact = budget.taken, True
        raise
    finally:
        ledger.settle(request.key, usage, is_exact=is_exact)
    return state, result


async def _ask(
    ledger: Ledger,
    request: SubagentRequest,
    name: str,
    wait_for: Sequence[State[Any] | None],
    clock: Callable[[], float],
) -> tuple[State[Any], SubagentResult]:
    started = clock()
    state, content = await run_task(subagent, request, name=name, wait_for=wait_for)
    if state.name == WAITING:
        raise ApprovalNeededError(state.message or f"{request.step} waits for a person.")
    if (found := result_in(content)) is not None:
        return state, _within_run(found, ledger)
    known = isinstance(content, SwarmError | ModelAPIError)
    result = SubagentResult(
        model=request.model,
        started_at=started,
        ended_at=clock(),
        category=Category.INFRASTRUCTURE,
        error=str(content) if known else repr(content),
    )
    return state, result


def _within_run(result: SubagentResult, ledger: Ledger) -> SubagentResult:
    """Blame the run's budget, not the step, for an attempt that the run's end cut short."""
    if result.category is not Category.TIMEOUT or not ledger.is_over:
        return result
    error = f"The run's time ended {result.timeout_s:.1f} s into this attempt. Raise timeout_s."
    return result.model_copy(update={"category": Category.BUDGET, "error": error})
