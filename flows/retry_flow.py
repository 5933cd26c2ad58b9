"""The flow `swarm-retry`: the failed steps of a partial run are tried once more."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from prefect.client.schemas.objects import FlowRun, State
from prefect.logging import get_run_logger
from prefect.states import AwaitingRetry, Completed
from pydantic import Field

from ..errors import InputError, RunAliveError
from ..store.protocol import RunStore
from .options import steps_to_begin_again, undone_steps
from .prefect_io.lost import find_here
from .prefect_io.schema_flow import schema_flow
from .prefect_io.server_client import client_of_server

__all__ = ["swarm_retry"]

_MESSAGE = "The failed steps are tried again."


@schema_flow(
    name="swarm-retry",
    flow_run_name="retry {run}",
    description="Have the failed steps of a partial run tried once more, by its work pool.",
)
async def swarm_retry(
    run: Annotated[str, Field(min_length=1)], most: Annotated[int, Field(ge=1)] = 1
) -> State[None]:
    """Have the failed steps of a partial run tried again by the work pool that it was run by.

    It does nothing where the run isn't partial any more, somebody goes on with it, what it did was
    undone, or it was tried again so often already.

    Args:
        run: The run's id: the first twelve digits of its flow run's, or all of them.
        most: How often a step is begun again, whoever did that.

    Returns:
        A state that says what was done.

    Raises:
        InputError: The run is of no deployment with a work pool, so that no worker would take it.
        RunNotFoundError: The run's folder isn't on this machine.
        ServerError: The server can't be asked.
    """
    store = find_here(run, "store runs in PostgreSQL.")
    words = await _retry(store, most)
    get_run_logger().info("%s", words)
    return Completed(message=words)


async def _retry(store: RunStore, most: int) -> str:
    name = f"Run {store.run_id}"
    try:
        with store.exclusive():
            result = store.result()
            if result is None or result.status != "partial":
                return f"{name} is {result.status if result else 'not over'}: nothing was done."
            if undone := undone_steps(result):
                did = f"What {', '.join(undone)} of run {store.run_id} did was undone"
                return f"{did}, so the run doesn't go on. Nothing was done."
            if max(store.restart_counts().values(), default=0) >= most:
                return f"{name} was tried again {most} times already: nothing was done."
            again = steps_to_begin_again(result, retry_failed=True, changes={})
            if not again:
                return f"{name} has no step that another attempt would help: nothing was done."
            async with client_of_server() as client:
                flow_run = await client.read_flow_run(UUID(store.about().flow_run_id))
                _check_pool(name, flow_run)
                store.begin_again(result, again)
                state = AwaitingRetry(message=_MESSAGE)
                await client.set_flow_run_state(flow_run.id, state, force=True)
    except RunAliveError:
        return f"{name} is being executed: nothing was done."
    return f"{name}: {', '.join(sorted(again))} will be tried again by {flow_run.work_pool_name}."


def _check_pool(name: str, flow_run: FlowRun) -> None:
    if flow_run.deployment_id is None or not flow_run.work_pool_name:
        raise InputError(
            f"{name} is of no deployment with a work pool: no worker would take it.",
            "Go on with it on its machine: prefect-swarm resume RUN --retry-failed",
        )
