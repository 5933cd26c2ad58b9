"""The flow `swarm-tell`: its deployment's form is where a person writes to a run's orchestrator."""

from __future__ import annotations

from typing import Annotated

from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed
from pydantic import Field

from ..store.messages import MOST_CHARS
from ..text import one_line
from .messages import tell
from .prefect_io.lost import find_here
from .prefect_io.schema_flow import schema_flow

__all__ = ["swarm_tell"]

_NAME_CHARS = 100


@schema_flow(
    name="swarm-tell",
    flow_run_name="message to {run}",
    description="Write to the orchestrator of a run that goes on.",
)
async def swarm_tell(
    run: Annotated[str, Field(min_length=1)],
    message: Annotated[str, Field(min_length=1, max_length=MOST_CHARS)],
    name: str = "",
) -> State[int]:
    """Write to the orchestrator of a run: its next turn shows the message as the user's own wish.

    Args:
        run: The run's id: the first twelve digits of its flow run's, or all of them.
        message: What the orchestrator is to know.
        name: Who writes it; nothing checks it.

    Returns:
        A state that says when the message is read, with the message's number.

    Raises:
        InputError: The message can't be taken, or the run's orchestrator reads none any more.
        RunNotFoundError: The run's folder isn't on this machine.
        StorageError: It can't be written, and doesn't count.
    """
    store = find_here(run, "use there: prefect-swarm tell")
    kept = tell(store.run_id, message, by="form", name=one_line(name, _NAME_CHARS))
    read = "Its next turn shows it." if store.is_executed() else "It is shown after a resume."
    words = f"Message {kept.number} for the orchestrator of run {store.run_id} is kept. {read}"
    get_run_logger().info("%s", words)
    return Completed(message=words, data=kept.number)
