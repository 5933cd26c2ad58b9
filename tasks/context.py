"""What a task run finds of its run and its attempt: its parameters are JSON, and these are not.

The flow sets it around its task runs, which run in the same event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar
from uuid import UUID

from prefect import State

from ..gates import GateCache, GateResult, PipelineResult
from ..store.result import ToolCall, Usage
from ..toolsets.catalogue import Catalogue
from .inspection import Inspection
from .race import LostError, run_until
from .subagent.request import SubagentRequest, SubagentResult

__all__ = [
    "AttemptBudget",
    "Executor",
    "TaskCalls",
    "TaskContext",
    "current_task",
    "task_context",
    "unless_won",
]

T = TypeVar("T")


async def _affordable(_: Usage, __: int) -> None:
    return None


@dataclass(slots=True)
class AttemptBudget:
    """What one process spends on an attempt.

    Attributes:
        extend: Takes what the attempt took in this process, and the tokens that its next request
            will read. Returns once the run can afford that; raises BudgetExceededError if it never
            can.
        taken: What the attempt took in this process.
    """

    extend: Callable[[Usage, int], Awaitable[None]] = _affordable
    taken: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class TaskCalls:
    """The calls of tasks in one run.

    Attributes:
        ended: The ends that are known here, by task run; the server may hear of one a moment later.
        broken: How many calls were left by an exception, so that the end isn't known.
    """

    ended: dict[UUID, State[Any]] = field(default_factory=dict[UUID, State[Any]])
    broken: int = 0

    @contextmanager
    def call(self) -> Generator[None]:
        """Count a call that an exception leaves."""
        try:
            yield
        except BaseException:
            self.broken += 1
            raise

    def note(self, state: State[Any]) -> None:
        """Note what a call came to."""
        task_run_id = state.state_details.task_run_id
        if state.is_final() and task_run_id is not None:
            self.ended[task_run_id] = state


class Executor(Protocol):
    """Has attempts worked on elsewhere. What it is given and returns is data alone.

    Calls, text, waits and verdicts come by what the context around has for them, as they do here.
    """

    async def answer(self, request: SubagentRequest) -> SubagentResult:
        """Return what a request comes to, as `tasks.subagent.task.answer` does.

        Raises:
            ApprovalNeededError: It waits for a person.
            SwarmError: Nobody there can work on it, or whoever did was lost.
        """
        ...

    async def inspect(self, inspection: Inspection) -> PipelineResult:
        """Return what gates find.

        Raises:
            SwarmError: As `answer` has it.
        """
        ...


def _pass_over(_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The run and the attempt around a task run.

    Attributes:
        calls: Notes the run's calls of tasks.
        executor: Has attempts worked on elsewhere; None has them worked on here.
        resumed: Whether an earlier process of the run may have had attempts worked on elsewhere.
        toolsets: What the run's agents may work with.
        prestarted: Answers, finished or under way, to requests that were made before the plan was
            complete, by the hash of what is asked.
        budget: What the attempt may spend.
        won: Is set when another sample of the attempt has passed; None where it is the only one.
        on_tool_call: Gets each call of a tool when it begins and when it ends.
        on_verdict: Gets what each gate found as soon as it has; nothing where that is stored.
        inspected: What the gates have found already; None has them look at the artifact.
        gate_cache: What gates have found before; None has each gate look its folder up.
        light: Bounds the gates of the stage `light`.
    """

    calls: TaskCalls = field(default_factory=TaskCalls)
    executor: Executor | None = None
    resumed: bool = False
    toolsets: Catalogue = field(default_factory=Catalogue)
    prestarted: Mapping[str, asyncio.Future[SubagentResult]] = field(
        default_factory=dict[str, "asyncio.Future[SubagentResult]"]
    )
    budget: AttemptBudget = field(default_factory=AttemptBudget)
    won: asyncio.Event | None = None
    on_tool_call: Callable[[ToolCall], None] = _pass_over
    on_verdict: Callable[[GateResult], None] = _pass_over
    inspected: PipelineResult | None = None
    gate_cache: GateCache | None = None
    light: AbstractAsyncContextManager[object] = field(default_factory=nullcontext[None])


_context: ContextVar[TaskContext | None] = ContextVar("task", default=None)


def current_task() -> TaskContext:
    """Return what is around this task run; a context of its own where nothing is."""
    return _context.get() or TaskContext()


@contextmanager
def task_context(**changes: Any) -> Generator[TaskContext]:
    """Change fields of it for the task runs inside."""
    context = replace(current_task(), **changes)
    token = _context.set(context)
    try:
        yield context
    finally:
        _context.reset(token)


async def unless_won(work: Coroutine[Any, Any, T]) -> T | None:
    """Await some work; None if another sample of the attempt passes first."""
    if (won := current_task().won) is None:
        return await work
    try:
        return await run_until(won, work)
    except LostError:
        return None
