"""What code around a running flow may see of it and ask of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import RunCancelledError
from ..result import Attempt, SwarmResult
from ..tasks.race import LostError, run_until
from .compile import CompiledPlan

if TYPE_CHECKING:
    # The command line hears of progress before it needs Prefect, which blocks import.
    from ..blocks.limiter.waiting import Waiting

__all__ = ["Progress", "RunControl", "controlled", "current_control", "waiting_listener"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that happened in a run, in the order it happened.

    Attributes:
        kind: `started` has the run's id as its text; `planned` has the plan; `waiting` and
            `resumed` are the begin and the end of a step's wait for the provider that the text
            names; `retrying`, `succeeded` and `failed` have the attempt that ended; `finished` has
            the result.
        at: Seconds since the epoch.
        text: The reason or detail, for people.
    """

    kind: Literal[
        "started",
        "planned",
        "launched",
        "waiting",
        "resumed",
        "retrying",
        "succeeded",
        "failed",
        "skipped",
        "cancelled",
        "synthesising",
        "finished",
    ]
    at: float
    step: str = ""
    text: str = ""
    plan: CompiledPlan | None = None
    attempt: Attempt | None = None
    result: SwarmResult | None = None


@dataclass(frozen=True, slots=True)
class RunControl:
    """Hears of progress through `listener`; set `cancel` to stop the run cleanly."""

    listener: Callable[[Progress], None] = lambda _: None
    cancel: asyncio.Event = field(default_factory=asyncio.Event)

    async def unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T:
        """Await some work, and stop it when the run is cancelled.

        Raises:
            RunCancelledError: The run was cancelled first.
        """
        try:
            return await run_until(self.cancel, work)
        except LostError:
            raise RunCancelledError("The run was cancelled on request.") from None


def waiting_listener(
    tell: Callable[[Progress], None], step: str = ""
) -> Callable[[Waiting | None], None]:
    """Return what hears of waits for providers and tells them as progress of a step.

    Without a step it is the planner or the answer that waits.
    """

    def hear(wait: Waiting | None) -> None:
        kind = "waiting" if wait else "resumed"
        tell(Progress(kind, time.time(), step=step, text=str(wait) if wait else ""))

    return hear


_control: ContextVar[RunControl | None] = ContextVar("swarm_run_control", default=None)


@contextmanager
def controlled(control: RunControl) -> Generator[RunControl]:
    """Let `control` hear of, and stop, the runs that start inside."""
    token = _control.set(control)
    try:
        yield control
    finally:
        _control.reset(token)


def current_control() -> RunControl:
    """Return the control around this run; an unused one if there is none."""
    return _control.get() or RunControl()
