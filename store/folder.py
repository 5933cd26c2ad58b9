"""Run folders: one folder a run, each file written whole or not at all."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import re
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel

from ..data_types import moment_of
from ..errors import RunAliveError, RunDamagedError, RunNotFoundError, StorageError
from ..files import UNFINISHED, is_unfinished_write, make_folder, storage_error
from ..settings import home
from ..untrusted.folder import FolderReader, damage_of
from ..untrusted.json_text import read_object
from ..untrusted.opening import UnsafeFileError, is_plain_name
from .result import SwarmResult
from .step import StepState

__all__ = ["ACCOUNTS", "LOCK", "RunFolder", "exclusive", "find_run", "is_whole_id", "run_id_of"]


ACCOUNTS = "accounts.jsonl"
"""The file with what the run's calls took. Its first line says what `run.json` says."""

LOCK = "lock"
"""The file that a process holds as long as it executes the run."""

M = TypeVar("M", bound=BaseModel)
_STEP = re.compile(r"S[1-9][0-9]{0,8}")
Content = str | bytes | BaseModel | dict[str, Any] | list[Any]

_logger = logging.getLogger("prefect_swarm.runs")
_unstored: dict[Path, bytes] = {}
"""What a full disk had no room for, by path, until it has."""


def run_id_of(flow_run_id: str) -> str:
    """Return the short name of a run: the first twelve digits of its flow run's id."""
    return flow_run_id.replace("-", "")[:12]


@dataclass(frozen=True, slots=True)
class RunFolder(FolderReader):
    """A run's folder.

    `run.json` names the flow run and objective, `inputs.json` has the texts that it was given,
    `facts.json` what its planner is shown in addition, `explored.json` what it looked at first,
    `planned.json` the plan and where it came from, `ahead/` what was answered before that,
    `recall.json` what the memory made of it, `plan.json` the compiled plan, `outputs/S1.txt` a
    step's whole output, `transcripts/S1.1.json` an attempt's messages, `steps/S1.json` a step with
    its attempts so far or the run that it was taken over from, `artifacts/S1/1/NAME` a file that
    its first attempt left, `calls/` the journals of calls of tools, `begun/` once more which of
    them were begun, `questions/` and `answers/` what a person was asked and decided,
    `accounts.jsonl` what calls took, `result.json` the result.
    """

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(flow_run_id: str) -> RunFolder:
        """Return the folder of that flow run; nothing is made yet.

        Remembered, because reading the settings takes longer than a small write does.

        Raises:
            RunNotFoundError: No folder can have such a name.
        """
        name = run_id_of(flow_run_id)
        if name and not is_plain_name(name):
            raise RunNotFoundError(f"No run is called {flow_run_id[:40]!a}.", "Check the name.")
        return RunFolder(home() / "runs" / name)

    @property
    def run_id(self) -> str:
        """The short name."""
        return self.folder.name

    def write(self, name: str, content: Content) -> str:
        """Write a file of the run and return its reference, the path below the runs' home.

        Raises:
            StorageError: It can't be written; what was there before stays.
        """
        path, data = self.folder / name, _data(content)
        try:
            self.files.replace(name, data)
        except OSError as error:
            raise storage_error(path, len(data), error) from error
        _unstored.pop(path, None)
        return f"{self.run_id}/{name}"

    def store(self, name: str, content: Content) -> str:
        """Write a file of the run, now or as soon as there is room for it; return its reference.

        What can't be written is kept in memory, and written together with the next file.
        """
        self.store_pending()
        try:
            return self.write(name, content)
        except StorageError as error:
            if not self.unstored():
                _logger.warning("%s The run goes on, and tries again.", error)
            _unstored[self.folder / name] = _data(content)
            return f"{self.run_id}/{name}"

    async def store_aside(self, name: str, content: Content) -> str:
        """Do as `store` does, in a thread: other steps go on while the disk takes its time.

        When this returns the file is on the disk, or kept in memory.
        """
        return await asyncio.to_thread(self.store, name, content)

    def store_pending(self) -> tuple[str, ...]:
        """Try once more to write what could not be written; return the names of what can't be."""
        for name in self.unstored():
            with suppress(StorageError):
                if (data := _unstored.get(self.folder / name)) is not None:
                    self.write(name, data)
        return self.unstored()

    def unstored(self) -> tuple[str, ...]:
        """The names of the files that could not be written yet."""
        # A copy: files are stored in threads too.
        own = (path for path in list(_unstored) if path.is_relative_to(self.folder))
        return tuple(path.relative_to(self.folder).as_posix() for path in own)

    def remove_temporary_files(self) -> None:
        """Remove what a process left that was killed while it wrote; the run's lock is held."""
        for name in self.names_below():
            own = Path(name)
            # Answers are written without the lock: those that are just being written stay.
            if own.name.startswith(".") or (own.suffix == UNFINISHED and is_unfinished_write(own)):
                self.remove(name)

    def create(self, name: str, content: Content) -> None:
        """Write a file that isn't there yet: whole, and only the first of several.

        Raises:
            FileExistsError: It is there.
            StorageError: It can't be written.
        """
        data = _data(content)
        try:
            self.files.create(name, data)
        except FileExistsError:
            raise
        except OSError as error:
            raise storage_error(self.folder / name, len(data), error) from error

    def append(
        self, name: str, content: BaseModel | dict[str, Any], *, durable: bool = False
    ) -> None:
        """Add a line of JSON to a file.

        Args:
            durable: Whether it is on the disk when this returns, whatever becomes of the machine.

        Raises:
            StorageError: It can't be written.
        """
        path = self.folder / name
        line = content.model_dump_json() if isinstance(content, BaseModel) else json.dumps(content)
        try:
            self.files.append_line(name, line, durable=durable)
        except OSError as error:
            raise storage_error(path, len(line), error) from error

    def remove(self, name: str) -> None:
        """Remove a file; nothing is wrong where there is none.

        Raises:
            StorageError: It can't be removed.
        """
        try:
            self.files.remove(name)
        except OSError as error:
            raise storage_error(self.folder / name, 0, error) from error

    def about(self) -> dict[str, Any]:
        """Return `flow_run_id`, `objective` and when the run was first started; {} if not known.

        The accounts say so too, in case `run.json` is damaged.
        """
        with suppress(RunDamagedError):
            if "flow_run_id" in (found := self.read_json("run.json")):
                return found
        for line in self.lines(ACCOUNTS):
            if "flow_run_id" in line:
                return line
        return {}

    def started_at(self) -> float:
        """When the run was first started; 0 if that isn't known."""
        return moment_of(self.about().get("started_at")) or 0.0

    def options(self) -> dict[str, Any]:
        """The options that the run was first started with; {} if they aren't known."""
        found = self.about().get("options")
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def check(self) -> None:
        """Refuse a folder that has links in it, or anything else but files and folders.

        Raises:
            RunDamagedError: It has; says what.
        """
        self.names_below()

    def has_started(self) -> bool:
        """Say whether the folder has anything of the run except the lock."""
        with suppress(FileNotFoundError):
            return any(path.name != LOCK for path in self.folder.iterdir())
        return False

    def result(self) -> SwarmResult | None:
        """Return the stored result; None if the run has not ended.

        Raises:
            RunDamagedError: The file is not a result.
        """
        return self._model("result.json", SwarmResult)

    def write_step(self, step: StepState) -> None:
        """Write down how far a step is."""
        self.store(_step_file(step.id), step)

    async def write_step_aside(self, step: StepState) -> None:
        """Do as `write_step` does, in a thread."""
        await self.store_aside(_step_file(step.id), step)

    def step(self, name: str) -> StepState | None:
        """Return how far a step was when an attempt last ended; None if none had.

        Raises:
            RunDamagedError: The file is not a step.
        """
        return self._model(_step_file(name), StepState)

    def steps(self) -> tuple[StepState, ...]:
        """The steps that were begun or are over, as they were when an attempt last ended.

        Raises:
            RunDamagedError: The file of one is damaged.
        """
        found = (self.step(name) for name in self._step_names("steps", ".json"))
        return tuple(step for step in found if step is not None)

    def restart_counts(self) -> dict[str, int]:
        """How often each step was begun again; those that never were are left out."""
        found = self.read_json("again.json")
        return {step: times for step, times in found.items() if type(times) is int and times > 0}

    def begin_again(self, result: SwarmResult, steps: Collection[str]) -> None:
        """Let some steps of a result be done from their first attempt again, and put it away.

        What failed for want of a key, a server or time would else fail again from the cache. The
        steps that had succeeded stay as they are.
        """
        before = self.restart_counts()
        self.write("again.json", before | {step: before.get(step, 0) + 1 for step in steps})
        for step in result.steps:
            if step.status != "succeeded":
                self.remove(_step_file(step.id))
        self.remove("result.json")

    def finished_steps(self) -> tuple[str, ...]:
        """Ids of the steps whose outputs are stored, in the order of their numbers.

        Raises:
            RunDamagedError: They can't be listed.
        """
        return self._step_names("outputs", ".txt")

    def _step_names(self, folder: str, suffix: str) -> tuple[str, ...]:
        """The steps that a folder has files of, in the order of the steps' numbers."""
        names = (name.removesuffix(suffix) for name in self.names(folder, suffix))
        return tuple(sorted(filter(_STEP.fullmatch, names), key=lambda name: (len(name), name)))

    def _model(self, name: str, model: type[M]) -> M | None:
        text = self.read(name)
        with self.readable(name):
            if text is None:
                return None
            read_object(text)  # What readers understand differently is refused.
            return model.model_validate_json(text)

    def damaged(self, name: str, error: Exception) -> RunDamagedError:
        """Return what to say of a file that can't be read."""
        advice = f"Have it written again: prefect-swarm resume {self.run_id}."
        if isinstance(error, UnsafeFileError):
            advice = "No run writes such a file. Look where it came from, and remove it."
        return RunDamagedError(f"{self.folder / name} is damaged: {damage_of(error)}.", advice)


def find_run(name: str) -> RunFolder:
    """Find a run by its id or its flow run's id.

    Raises:
        RunDamagedError: What says which flow run it was can't be read, and the name doesn't; or
            its folder has links in it.
        RunNotFoundError: There is none.
    """
    name = name.strip()
    root = home() / "runs"
    run = RunFolder(root / run_id_of(name))
    if not is_plain_name(run_id_of(name)) or not run.folder.is_dir():
        known = sorted(path.parent.name for path in root.glob("*/run.json"))
        advice = (
            f"The last ones are {', '.join(known[-5:])}." if known else "There are no runs yet."
        )
        raise RunNotFoundError(f"No run {name!r} is stored in {root}.", advice)
    run.check()
    flow_run_id = str(run.about().get("flow_run_id", ""))
    if not flow_run_id and not is_whole_id(name):
        raise RunDamagedError(
            f"{run.folder / 'run.json'} doesn't say which flow run {run.run_id} was.",
            f"Give the flow run's whole id instead, which begins with {run.run_id[:8]}; "
            f"the Prefect UI and `prefect flow-run ls` show it.",
        )
    if flow_run_id and name not in (run.run_id, flow_run_id, flow_run_id.replace("-", "")):
        raise RunNotFoundError(
            f"Run {run.run_id} in {root} is flow run {flow_run_id}, not {name!r}.",
            "Check the name.",
        )
    return run


def is_whole_id(name: str) -> bool:
    """Say whether a run's name is the whole id of its flow run, and not only the run's own."""
    try:
        UUID(name.strip())
    except ValueError:
        return False
    return True


def _step_file(step: str) -> str:
    return f"steps/{step}.json"


def _data(content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, BaseModel):
        return content.model_dump_json(indent=2).encode()
    return json.dumps(content, indent=2).encode()


_PID_CHARS = 20
_held: ContextVar[frozenset[str]] = ContextVar("swarm_held_runs", default=frozenset())


@contextmanager
def exclusive(run: RunFolder) -> Generator[None]:
    """Hold the run's lock file; what holds it already may ask again.

    The system lets go of the lock when the process dies, however it dies. It counts among the
    processes that share a file system with working locks, not among machines that don't.

    Raises:
        RunDamagedError: The run's folder has links in it, or anything else but files and folders.
        RunAliveError: Another process, or another task of this one, is executing the run.
    """
    held = _held.get()
    if run.run_id in held:
        yield
        return
    make_folder(run.folder)
    run.check()
    with run.readable(LOCK):
        descriptor = run.files.open_to_append(LOCK)
    with os.fdopen(descriptor, "a+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _alive(run, file.read(_PID_CHARS)) from None
        with suppress(OSError):  # It says who has the lock; a full disk doesn't undo the lock.
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        token = _held.set(held | {run.run_id})
        try:
            yield
        finally:
            _held.reset(token)


def _alive(run: RunFolder, pid: str) -> RunAliveError:
    holder = f"process {pid}" if pid else "another process"
    return RunAliveError(
        f"Run {run.run_id} is being executed by {holder}.",
        "Wait until it ends, or end that process; then resume the run.",
    )
