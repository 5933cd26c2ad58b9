"""Control of a running flow by the code around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RunCancelledError
from ..store.events import EventSink, WaitEvent, null_sink
from ..store.protocol import RunStore
from ..store.question import Question
from ..tasks.race import LostError, run_until

if TYPE_CHECKING:
    # The command line hears of progress before it needs Prefect, which blocks import.
    from ..models.request_context import Waiting

__all__ = [
    "AskPerson",
    "RunControl",
    "controlled",
    "current_control",
    "not_waiting",
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
    """

    listener: EventSink = null_sink
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    ask_person: AskPerson | None = None
    waits: bool = False

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


_control: ContextVar[RunControl | None] = ContextVar("swarm_run_control", default=None)


@contextmanager
def controlled(control: RunControl) -> Generator[RunControl]:
    """Let `control` hear of, and stop, the runs that start inside."""
    token = _control.set(control)
    try:
        yield control
    finally:
        _control.reset(token)


@contextmanager
def not_waiting() -> Generator[None]:
    """Leave the runs that start inside when they wait for a person, unless a control says more."""
    if _control.get() is None:
        with controlled(RunControl()):
            yield
    else:
        yield


def current_control() -> RunControl:
    """Return the control around this run; where there is none, that of a flow of its own.

    Such a flow was called as Prefect's flows are, and waits as they do when they are paused.
    """
    return _control.get() or RunControl(waits=True)
