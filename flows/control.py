"""Control of a running flow by the code around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RunCancelledError
from ..store.events import EventSink, WaitEvent, null_sink
from ..store.protocol import RunStore
from ..store.question import Question
from ..tasks.race import LostError, run_until
from ..toolsets.names import checked_name

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    # The command line hears of progress before it needs Prefect, which blocks import.
    from ..models.request_context import Waiting
    from ..toolsets.catalogue import Toolset, ToolsetSource

__all__ = [
    "AskPerson",
    "Caller",
    "RunControl",
    "called_with",
    "caller",
    "controlled",
    "current_control",
    "not_waiting",
    "override_toolsets",
    "wait_events",
]

T = TypeVar("T")

AskPerson = Callable[[RunStore, tuple[Question, ...]], Coroutine[Any, Any, None]]
"""Asks a person about what a run waits for, and returns once it has written down an answer.

It is cancelled when somebody else has answered. A `RunWaitingError` of it leaves the run.
"""


@dataclass(frozen=True, slots=True)
class RunControl:
    """Hears of events through `listener`; set `cancel` to stop the run cleanly.

    `ask_person` is awaited when nothing of a run can go on before a person answers. Where it is
    None, the run is left then; or it stays and waits for what is answered elsewhere, if it `waits`.
    If it is `suspended` when it is left, a worker goes on with it.
    """

    listener: EventSink = null_sink
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    ask_person: AskPerson | None = None
    waits: bool = False
    suspended: bool = False

    async def unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T:
        """Await some work, and stop it when the run is cancelled.

        Raises:
            RunCancelledError: The run was cancelled first.
        """
        try:
            return await run_until(self.cancel, work)
        except LostError:
            raise RunCancelledError("The run was cancelled on request.") from None


def wait_events(
    emit: EventSink, step: str = "", attempt: int = 0
) -> Callable[[Waiting | None], None]:
    """Return what hears of waits for providers and tells them as events of a step.

    Without a step it is the planner or the answer that waits.
    """

    def handle(wait: Waiting | None) -> None:
        if wait is None:
            emit(WaitEvent(kind="resumed", step=step, attempt=attempt))
            return
        emit(
            WaitEvent(
                step=step,
                attempt=attempt,
                provider=wait.provider,
                why=wait.reason,
                seconds=wait.seconds,
            )
        )

    return handle


@dataclass(frozen=True, slots=True)
class Caller:
    """What the code around a run hands over besides the flow's parameters, which are JSON.

    A run that another process resumes has none of it.

    Attributes:
        control: None where nothing around the run controls it.
        inputs: Texts by name. A Prefect server takes parameters of 512 KiB at most, and documents
            may be larger. Once the run has begun, its store has them.
        answer_type: The Python type of the answer, in addition to its schema.
        toolsets: Toolsets that come before others of their names.
    """

    control: RunControl | None = None
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_type: TypeAdapter[Any] | None = None
    toolsets: Mapping[str, ToolsetSource] = field(default_factory=dict[str, "ToolsetSource"])


_caller: ContextVar[Caller] = ContextVar("swarm_caller", default=Caller())  # noqa: B039 - frozen


def caller() -> Caller:
    """Return what the code around hands to the runs that start here."""
    return _caller.get()


@contextmanager
def called_with(**changes: Any) -> Generator[None]:
    """Have the runs that start inside get these fields of `Caller`, and the others as they are."""
    token = _caller.set(replace(_caller.get(), **changes))
    try:
        yield
    finally:
        _caller.reset(token)


@contextmanager
def override_toolsets(**toolsets: Toolset) -> Generator[None]:
    """Give the runs that begin inside toolsets by name; they come before others of these names.

    They are this process's alone: a run that is resumed elsewhere has to be given them again.

    Raises:
        InputError: A name isn't one.

    Example:
        ```python
        tools = FunctionToolset()
        tools.add_function(stock_of)
        with override_toolsets(stock=tools):
            asyncio.run(swarm("…"))
        ```
    """
    from ..toolsets.catalogue import ToolsetOverride

    made = {name: ToolsetOverride(checked_name(name), each) for name, each in toolsets.items()}
    with called_with(toolsets={**caller().toolsets, **made}):
        yield


@contextmanager
def controlled(control: RunControl) -> Generator[RunControl]:
    """Let `control` get the events of the runs that start inside, and stop them."""
    with called_with(control=control):
        yield control


@contextmanager
def not_waiting() -> Generator[None]:
    """Leave the runs that start inside when they wait for a person, unless a control says more."""
    with called_with(control=_caller.get().control or RunControl()):
        yield


def current_control() -> RunControl:
    """Return the control around this run; where there is none, that of a flow of its own.

    Such a flow was called as Prefect's flows are, and waits as they do when they are paused.
    """
    return _caller.get().control or RunControl(waits=True)
