"""A journal as a file of its run: JSON lines, each written before what it speaks of happens."""

from __future__ import annotations

from ...runs import RunFolder
from .entries import Entry, JournalState, read_entries, state_of

__all__ = ["CallJournal", "answers_kept"]


class CallJournal:
    """The journal of one attempt. A line is flushed to the system before `write` returns.

    So whoever kills the process loses nothing; what a machine without power loses isn't promised.
    """

    def __init__(self, run: RunFolder, attempt: str, request_hash: str) -> None:
        """Take the file of an attempt and of what it is asked: another request has another one."""
        self._run = run
        self._name = f"calls/{attempt}-{request_hash[:8]}.jsonl"

    def read(self) -> JournalState:
        """Return what was written so far, by whatever process."""
        return state_of(read_entries(self._run.lines(self._name)))

    def write(self, entry: Entry) -> None:
        """Add an entry.

        Raises:
            StorageError: It can't be written, so what it speaks of must not happen.
        """
        self._run.append(self._name, entry)


def answers_kept(run: RunFolder, key: str) -> int:
    """Return how many answers of its model the journal of an attempt has; 0 where it has none.

    Args:
        key: The attempt's cache key: flow run, plan's hash, attempt's name and request's hash.
    """
    attempt, _, asked_hash = key.split(".", 2)[-1].rpartition(".")
    messages = CallJournal(run, attempt, asked_hash).read().messages
    return sum(message.get("kind") == "response" for message in messages)
