"""What an attempt's calls of Python have come to, in the run's folder: each counts once.

A call is over when `calls.json` has it, with the variables and files that the next begins with. So
a call that a killed process had begun is made again from what was before it, and a call that is
asked again has the answer that it had.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, ValidationError

from ...errors import RunDamagedError
from ...frozen import Frozen
from ..artifacts import keep_artifacts
from ..source import ToolsetUse

__all__ = ["KeptCalls", "KeptState"]


class _Calls(Frozen):
    """The calls that are over.

    Attributes:
        answers: What the model read of each, by what tells it from the others.
        state: Where the variables are; "" for none.
        files: Where the files are, by their paths.
    """

    answers: dict[str, str] = Field(default_factory=dict)
    state: str = ""
    files: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptState:
    """What a call begins with, and its number, from 1."""

    number: int
    state: bytes
    files: Mapping[str, bytes]


class KeptCalls:
    """The calls of an attempt, made one after another."""

    def __init__(self, use: ToolsetUse) -> None:
        """Take the attempt; nothing is read yet."""
        self._use = use
        own = f"{use.attempt}-{use.conversation}" if use.conversation else use.attempt
        self._folder = f"python/{own}"

    def answer(self, key: str) -> str | None:
        """Return what the model read of a call that is over; None if it isn't.

        Raises:
            RunDamagedError: What was written can't be read.
            StorageError: Its files can't be written where people look for them.
        """
        calls = self._calls()
        if (found := calls.answers.get(key)) is not None:
            # The process may have been killed before they were.
            self._show(self._files(calls))
        return found

    def current(self) -> KeptState:
        """Return what the next call begins with.

        Raises:
            RunDamagedError: What was written can't be read.
        """
        calls = self._calls()
        state = self._blob(calls.state) if calls.state else b""
        return KeptState(len(calls.answers) + 1, state, self._files(calls))

    def add(self, key: str, answer: str, after: tuple[bytes, Mapping[str, bytes]] | None) -> None:
        """Write down a call that has come to its end.

        Args:
            key: What tells it from others.
            answer: What the model reads of it.
            after: The variables and files that it left; None leaves those of before.

        Raises:
            StorageError: It can't be written; the call is as if it hadn't been.
        """
        calls = self._calls()
        answers = {**calls.answers, key: answer}
        if after is None:
            self._write(calls.model_copy(update={"answers": answers}))
            return
        state, files = after
        stored = {path: self._store(data) for path, data in files.items()}
        own = self._store(state) if state else ""
        self._write(_Calls(answers=answers, state=own, files=stored))
        self._show(files)
        self._remove_others({own, *stored.values()})

    def _show(self, files: Mapping[str, bytes]) -> None:
        keep_artifacts(self._use.run, self._use.step, self._use.attempt, files)

    def _calls(self) -> _Calls:
        name = f"{self._folder}/calls.json"
        text = self._use.run.read(name)
        try:
            return _Calls() if text is None else _Calls.model_validate_json(text)
        except ValidationError:
            raise self._damaged(name) from None

    def _write(self, calls: _Calls) -> None:
        self._use.run.write(f"{self._folder}/calls.json", calls)

    def _files(self, calls: _Calls) -> dict[str, bytes]:
        return {path: self._blob(name) for path, name in calls.files.items()}

    def _store(self, data: bytes) -> str:
        """Keep some content under its hash: what is there is never changed, nor written twice."""
        name = hashlib.sha256(data).hexdigest()
        path = f"{self._folder}/{name}"
        if not self._use.run.has(path):
            self._use.run.write(path, data)
        return name

    def _blob(self, name: str) -> bytes:
        data = self._use.run.read_bytes(f"{self._folder}/{name}")
        if data is None or hashlib.sha256(data).hexdigest() != name:
            raise self._damaged(f"{self._folder}/{name}")
        return data

    def _remove_others(self, names: set[str]) -> None:
        for name in self._use.run.names(self._folder):
            if name not in names and not name.endswith(".json") and name[0] != ".":
                self._use.run.remove(f"{self._folder}/{name}")

    def _damaged(self, name: str) -> RunDamagedError:
        return RunDamagedError(
            f"{self._use.run.folder / name} is damaged.",
            f"Remove the folder {self._folder}; the attempt's variables begin anew.",
        )
