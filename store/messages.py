"""What a person writes to the orchestrator of a run that goes on: numbered, and read in turns."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from ..data_types import Frozen, Moment
from ..errors import InputError, RunDamagedError
from ..metrics.clock import run_time
from .protocol import RunStore

__all__ = ["MOST_CHARS", "UserMessage", "UserMessages", "message_text"]

_logger = logging.getLogger("prefect_swarm.runs")

MOST_CHARS = 10_000
"""Characters of a message: a turn shows it whole."""


class UserMessage(Frozen):
    """What a person writes to the orchestrator.

    Attributes:
        number: Counted from 1 within the run, in the order in which they came.
        text: What they write; "" if it can't be read any more.
        at: When, in seconds since the Unix epoch.
        by: Which way it came: `command`, `form` (of the deployment `swarm-tell`) or `python`.
        name: Who wrote it, as they say; nothing checks it.
        closed: Why the orchestrator reads nothing from this number on; "" for a message.
    """

    number: int
    text: str = ""
    at: Moment = 0.0
    by: str = ""
    name: str = ""
    closed: str = ""


def message_text(text: str) -> str:
    """Return a message as it is kept: its lines end in newlines, and nothing is around it.

    Raises:
        InputError: It is empty or too long, or has characters that nobody sees.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        raise InputError("The message is empty.", "Write what the orchestrator is to know.")
    if len(text) > MOST_CHARS:
        raise InputError(
            f"The message has {len(text):,} characters; at most {MOST_CHARS:,} are taken.",
            "Say it in fewer words.",
        )
    for place, char in enumerate(text, 1):
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs"):
            raise InputError(
                f"Character {place} of the message is a control character, U+{ord(char):04X}.",
                "Leave it out.",
            )
    return text


@dataclass(frozen=True, slots=True)
class UserMessages:
    """The messages of a run.

    Any number of processes may add and read in parallel; the holder of the run's lock closes them
    and opens them again. Each number is taken once: by a message, or by the end of them.
    """

    run: RunStore
    clock: Callable[[], float] = run_time

    def add(self, text: str, *, by: str, name: str = "") -> UserMessage:
        """Keep a message, and return it with its number; it counts from now on.

        Raises:
            InputError: It can't be taken, or the orchestrator reads none any more.
            StorageError: It can't be written, and doesn't count.
        """
        text = message_text(text)
        number = 1
        while True:
            if (found := self._at(number)) is not None:
                if found.closed:
                    raise InputError(
                        f"Run {self.run.run_id} takes no message: {found.closed}.",
                        f"Change its plan: prefect-swarm edit {self.run.run_id} PLAN.yaml, or fork "
                        f"it: prefect-swarm fork {self.run.run_id} --plan PLAN.yaml",
                    )
                number += 1
                continue
            message = UserMessage(number=number, text=text, at=self.clock(), by=by, name=name)
            if self.run.create_record("message", message, str(number)):
                return message

    def fresh(self, after: int) -> tuple[UserMessage, ...]:
        """Return the messages that have come after a number, in their order."""
        found: list[UserMessage] = []
        for number in count(after + 1):
            message = self._at(number)
            if message is None or message.closed:
                return tuple(found)
            found.append(message)
        raise AssertionError("count has no end")  # pragma: no cover

    def all(self) -> tuple[UserMessage, ...]:
        """Return all messages that can be read, in their order."""
        return tuple(message for message in self.fresh(0) if message.text)

    def close(self, why: str, after: int) -> bool:
        """Take no message after a number; False if there is one.

        Raises:
            StorageError: It can't be written.
        """
        end = UserMessage(number=after + 1, at=self.clock(), closed=why)
        if self.run.create_record("message", end, str(end.number)):
            return True
        found = self._at(end.number)
        return found is not None and bool(found.closed)

    def reopen(self) -> None:
        """Take messages again, where they were closed."""
        number = len(self.fresh(0)) + 1
        found = self._at(number)
        if found is not None and found.closed:
            self.run.remove_record("message", str(number))

    def _at(self, number: int) -> UserMessage | None:
        with suppress(RunDamagedError):
            message = self.run.record("message", UserMessage, str(number))
            if message is None or message.number == number:
                return message
        _logger.warning(
            "Message %d of run %s can't be read, and counts for nothing: %s",
            number,
            self.run.run_id,
            self.run.place("message", str(number)),
        )
        return UserMessage(number=number)
