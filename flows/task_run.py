"""Run one Prefect task inside an async flow and look at its state instead of raising."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast
from uuid import UUID

from prefect import Task
from prefect.client.schemas.objects import State, StateType
from prefect.futures import PrefectFuture
from prefect.utilities.annotations import allow_failure, quote
from pydantic import BaseModel

from ..tasks.subagent.request import SubagentResult, UnansweredError
from .server_state.task_runs import current_calls

__all__ = ["result_in", "run_task"]


async def run_task(
    task: Task[..., Any],
    payload: BaseModel,
    *,
    name: str,
    wait_for: Sequence[State[Any] | None] = (),
) -> tuple[State[Any], Any]:
    """Run a task and return its state with its result, or with the exception it failed by.

    Args:
        task: An async task of two parameters, the payload and the task run's name; giving each call
            a name this way costs a third of a millisecond, `with_options` ten times that.
        payload: What it is given, as JSON's objects; quoted, so that Prefect does not walk it.
        name: The task run's name.
        wait_for: States whose edges to draw. They are over, one way or another: whether the task
            is to run at all has been decided already.
    """
    ids = (state.state_details.task_run_id for state in wait_for if state is not None)
    edges = [allow_failure(_Edge(task_run_id)) for task_run_id in ids if task_run_id is not None]
    calls = current_calls()
    with calls.call():
        state: State[Any] = await cast("Any", task)(
            quote(payload.model_dump(mode="json")), name, return_state=True, wait_for=edges
        )
    calls.note(state)
    content: Any = await cast("Any", state).result(raise_on_failure=False)
    return state, content


def result_in(content: object) -> SubagentResult | None:
    """Return the result that a subagent's task run came to; None if it broke instead."""
    if isinstance(content, UnansweredError):
        return content.result
    return SubagentResult.model_validate(content) if isinstance(content, dict) else None


_NOT_READY: State[Any] = State(type=StateType.PENDING, name="NotReady")


class _Edge(PrefectFuture[Any]):
    """A future of a task run that is over, for the graph alone.

    A final state would have Prefect fetch its result in a thread of its own, some milliseconds for
    each edge; what is NotReady, under `allow_failure`, it only notes. And a future's fields it
    doesn't look through, as it does a state's.
    """

    def __init__(self, task_run_id: UUID) -> None:
        self._id = task_run_id

    @property
    def task_run_id(self) -> UUID:
        return self._id

    @property
    def state(self) -> State[Any]:
        return _NOT_READY

    def wait(self, timeout: float | None = None) -> None:
        """Return at once."""

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        """Return nothing: only its id counts."""

    def add_done_callback(self, fn: Callable[[PrefectFuture[Any]], None]) -> None:
        """Call it at once: the task run is over."""
        fn(self)
