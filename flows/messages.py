"""What a person writes to the orchestrator of a run: it is checked, kept, or refused."""

from __future__ import annotations

import logging

from ..errors import InputError, StorageError
from ..store.messages import Message, Messages, message_text
from ..store.protocol import RunStore
from ..store.runs import find_run
from .plan_changes import options_of

__all__ = ["refuse_messages", "tell"]

_logger = logging.getLogger("prefect_swarm.runs")


def tell(run: str, text: str, *, by: str = "python", name: str = "") -> Message:
    """Write to the orchestrator of a run: its next turn shows the text as the user's own wish.

    If no process works on the run, it is kept, and the next turn after `resume` shows it.

    Args:
        run: The run's id, or its flow run's.
        text: At most 10,000 characters.
        by: Which way it came.
        name: Who writes it; nothing checks it.

    Returns:
        The message as it is kept, with its `number`.

    Raises:
        InputError: The text can't be taken, or the orchestrator has no further turn: the run has
            but the plan, its turns are used up, or it is over.
        RunNotFoundError: No such run is stored.
        StorageError: It can't be written, and doesn't count.

    Example:
        ```python
        message = tell("4f0c6b7b9d1a", "Also look at Portugal.")
        print(f"Message {message.number} is shown in the next turn.")
        ```
    """
    store = find_run(run)
    text = message_text(text)
    _require_turns(store)
    return Messages(store).add(text, by=by, name=name)


def _require_turns(run: RunStore) -> None:
    """Require that the run may have another turn, as far as it is written down.

    Raises:
        InputError: It has none.
    """
    result = run.result()
    if result is not None and result.status != "failed":
        raise InputError(
            f"Run {run.run_id} is {result.status}: its orchestrator has no turn any more.",
            f"Fork it with another plan: prefect-swarm fork {run.run_id} --plan PLAN.yaml",
        )
    if options_of(run).turns == 1:
        raise InputError(
            f"The orchestrator of run {run.run_id} has one turn, the plan: it reads no message.",
            f"Change the plan: prefect-swarm edit {run.run_id} PLAN.yaml. A run that reads "
            "messages begins with --turns 6.",
        )


def refuse_messages(run: RunStore, why: str) -> None:
    """Have a run take no message, and name those that came before that was known."""
    messages, last = Messages(run), 0
    try:
        while not messages.close(why, last):
            last += 1
    except StorageError as error:
        _logger.warning("Messages can't be closed: %s", error)
    if last:
        _logger.warning("Nobody reads message 1 to %d of run %s: %s.", last, run.run_id, why)
