"""Which task runs of a flow run this process has seen the end of."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from prefect.client.schemas.objects import State

__all__ = ["TaskCalls", "current_calls", "noting_calls"]


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


_calls: ContextVar[TaskCalls | None] = ContextVar("swarm_task_calls", default=None)


@contextmanager
def noting_calls() -> Generator[TaskCalls]:
    """Have the calls inside noted."""
    calls = TaskCalls()
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


def current_calls() -> TaskCalls:
    """Return where this run's calls are noted; outside of a run, nowhere that lasts."""
    return _calls.get() or TaskCalls()
