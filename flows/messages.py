"""What a person writes to the orchestrator of a run: it is kept, found and read."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from ..errors import InputError, RunDamagedError, StorageError
from ..store.attempt import excerpt
from ..store.events import EventSink, MessageEvent
from ..store.messages import UserMessage, UserMessages, message_text
from ..store.protocol import RunStore
from ..store.runs import find_run
from .plan_changes import options_of

__all__ = ["Inbox", "tell"]

_logger = logging.getLogger("prefect_swarm.runs")


def tell(run: str, text: str, *, by: str = "python", name: str = "") -> UserMessage:
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
    return UserMessages(store).add(text, by=by, name=name)


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


@dataclass(slots=True)
class Inbox:
    """What a run's orchestrator finds to read; the holder of the run's lock has it.

    Attributes:
        last: The number of the last message that was found.
        unread: Those that no turn has shown.
    """

    run: RunStore
    emit: EventSink
    last: int = 0
    unread: list[UserMessage] = field(init=False, default_factory=list[UserMessage])
    _emitted: set[int] | None = field(init=False, default=None)

    def look(self) -> None:
        """Take the messages that have come since the last look, and emit each once."""
        for message in UserMessages(self.run).fresh(self.last):
            self.last = message.number
            self.unread.append(message)
            self._emit(message)

    def take(self, numbers: Collection[int]) -> None:
        """Have messages be read: a turn has shown them."""
        self.unread = [message for message in self.unread if message.number not in numbers]

    def reopen(self) -> None:
        """Take messages again, where they were closed."""
        UserMessages(self.run).reopen()

    def close(self, why: str) -> bool:
        """Take no message any more; False if there is one that isn't read."""
        if self.unread:
            return False
        return self._closed(why)

    def close_for_good(self, why: str) -> None:
        """Take no message any more, and name those that nobody has read."""
        self.look()
        while not self._closed(why):
            self.look()
        if numbers := ", ".join(str(message.number) for message in self.unread):
            _logger.warning(
                "The orchestrator has not read message %s: %s. Change the plan, or fork the run.",
                numbers,
                why,
            )

    def _closed(self, why: str) -> bool:
        try:
            return UserMessages(self.run).close(why, self.last)
        except StorageError as error:
            _logger.warning("What a person writes from now on is read by nobody: %s", error)
            return True

    def _emit(self, message: UserMessage) -> None:
        if self._emitted is None:
            # An earlier process may have emitted it.
            self._emitted = set()
            with suppress(RunDamagedError):
                found = self.run.events(("message",))
                self._emitted = {e.message for e in found if isinstance(e, MessageEvent)}
        if not message.text or message.number in self._emitted:
            return
        self._emitted.add(message.number)
        event = MessageEvent(
            message=message.number,
            text=excerpt(message.text),
            by=message.by,
            name=message.name,
        )
        self.emit(event)
