"""A journal as a file of its run: JSON lines, each written before what it speaks of happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...errors import RunDamagedError, UncertainCallError
from ...formats.json_text import read_object
from ...runs import RunFolder
from ...text import count_in
from .entries import (
    CallKey,
    Entry,
    JournalState,
    Reserved,
    conversation_of,
    read_entries,
    state_of,
    tools_astray,
)

__all__ = ["CallJournal", "answers_kept"]

CALLS, BEGUN = "calls", "begun"
"""The folders of a run with its journals, and with what is begun once more."""


class CallJournal:
    """The journal of one attempt. A line is on the disk before `write` returns.

    What must not happen twice is written down twice, in two files: where one of them has lost a
    line, or is lost itself, the other one still says that the call was begun.
    """

    def __init__(self, run: RunFolder, attempt: str, request_hash: str) -> None:
        """Take the file of an attempt and of what it is asked: another request has another one."""
        self._run = run
        self._name = f"{attempt}-{request_hash[:8]}.jsonl"

    def read(self) -> JournalState:
        """Return what was written so far, by whatever process.

        Raises:
            UncertainCallError: A file of it can't be read, so nobody knows what was done.
        """
        state = state_of(_entries(self._lines(CALLS, self._name))[0])
        begun, state.unreadable = _begun(self._lines(BEGUN, self._name))
        # Either file may have lost some.
        state.reserved |= begun
        return state

    def write(self, entry: Entry) -> None:
        """Add an entry.

        Raises:
            StorageError: It can't be written, so what it speaks of must not happen.
        """
        self._run.append(f"{CALLS}/{self._name}", entry, durable=True)

    def begin(self, entry: Reserved, *, once: bool) -> None:
        """Write down that a call is about to be made; twice, if it must not be made `once` more.

        Raises:
            StorageError: As `write` has it.
        """
        self.write(entry)
        if once:
            self._run.append(f"{BEGUN}/{self._name}", entry, durable=True)

    def lost_before(self) -> frozenset[str]:
        """Return the tools of calls that earlier attempts of the step began and know no more of.

        Their journals have lost lines. What a whole journal says is for those attempts alone.
        """
        found: set[str] = set()
        step, number = _attempt_of(self._name)
        for name in self._names(BEGUN):
            its_step, its_number = _attempt_of(name)
            if its_step == step and its_number < number:
                begun, _ = _begun(self._lines(BEGUN, name))
                state = state_of(_entries(self._lines(CALLS, name))[0])
                lost = begun.keys() - state.reserved.keys() - state.committed.keys()
                astray = tools_astray(state, conversation_of(state))
                found |= {key.tool for key in lost} | astray
        return frozenset(found)

    def _names(self, folder: str) -> list[str]:
        try:
            return self._run.names(folder, ".jsonl")
        except RunDamagedError as error:
            raise _unknown(error) from None

    def _lines(self, folder: str, name: str) -> list[str]:
        try:
            data = self._run.read_bytes(f"{folder}/{name}") or b""
        except RunDamagedError as error:
            raise _unknown(error) from None
        return [line for line in data.decode("utf-8", "replace").split("\n") if line.strip()]


def _unknown(error: RunDamagedError) -> UncertainCallError:
    return UncertainCallError(
        f"{error.problem} So nobody knows which calls of tools were made.",
        "Make it readable; or, if none of its calls must be known, remove it and resume.",
    )


def answers_kept(run: RunFolder, key: str) -> int:
    """Return how many answers of its model the journal of an attempt has; 0 where it has none.

    Args:
        key: The attempt's cache key: flow run, plan's hash, attempt's name and request's hash.
    """
    attempt, _, asked_hash = key.split(".", 2)[-1].rpartition(".")
    try:
        messages = CallJournal(run, attempt, asked_hash).read().messages
    except UncertainCallError:
        return 0
    return sum(message.get("kind") == "response" for message in messages)


def _entries(lines: Iterable[str]) -> tuple[list[Entry], int]:
    """Return the entries of lines, and how many lines are none."""
    found: list[Entry] = []
    broken = 0
    for line in lines:
        try:
            read = read_entries([read_object(line)])
        except ValueError:
            read = []
        found += read
        broken += not read
    return found, broken


def _begun(lines: Iterable[str]) -> tuple[Counter[CallKey], int]:
    """Return how often each call was begun, and how many lines say no more which one."""
    entries, broken = _entries(lines)
    return Counter(entry.key for entry in entries if isinstance(entry, Reserved)), broken


def _attempt_of(name: str) -> tuple[str, int]:
    """The step and the number of the attempt that a journal is of, by its file's name."""
    step, _, rest = name.partition(".")
    number = rest.partition("-")[0].partition(".")[0]
    return step, count_in(number) or 0
