"""`FiledRun`: a run as files with names, each written whole or not at all, wherever they are."""

from __future__ import annotations

import hashlib
import logging
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from time import time
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from ..data_types import moment_of
from ..errors import RunDamagedError
from ..plan.ids import is_step_id, sort_key
from ..untrusted.folder import damage_of
from ..untrusted.json_text import read_object
from ..untrusted.opening import UnsafeFileError, is_plain_name
from .accounts import Accounts, Booking
from .attempt import Start
from .events import RunEvent
from .layout import (
    ABOUT,
    ACCOUNTS,
    AGAIN,
    ARTIFACTS,
    INPUTS,
    KEYED,
    LINES,
    LOCK,
    PICTURES,
    PLAN,
    RESULT,
    STEPS,
    TOOL_STATE,
    TRANSCRIPTS,
    name_of,
    output_file,
    output_ref,
    step_file,
)
from .protocol import (
    DEFERRED,
    About,
    Artifact,
    EventFeed,
    EventWriter,
    Journal,
    Kept,
    PlanRecord,
    RecordKind,
    RunStore,
)
from .result import SwarmResult
from .run_files import RunFiles
from .step import StepState

__all__ = ["FiledRun", "copy_run"]

_ADVICE: dict[Kept, str] = {
    "answer": "Remove the file; then the question can be answered again.",
    "question": "Remove the file; then the question can be answered again.",
    "form": "What was answered in it isn't read.",
    "inputs": "Run the objective anew, with its files.",
    "source_plan": "Run the plan anew.",
    "tool_state": "Remove its folder; the attempt's variables begin anew.",
}
M = TypeVar("M", bound=BaseModel)

_logger = logging.getLogger("prefect_swarm.runs")
_EDITS = TypeAdapter[int](int)


class FiledRun(RunFiles):
    """A run as files of a folder or of a database: all of `RunStore` but where and whose it is.

    `run.json` names the flow run and objective, `inputs.json` has the texts that it was given,
    `facts.json` what its planner is shown in addition, `explored.json` what it looked at first,
    `planned.json` the plan and where it came from, `ahead/` what was answered before that,
    `recall.json` what the memory made of it, `expansions/S2.json` the items that a step is done
    for, `plan.json` the compiled plan, `outputs/S1.txt` a step's whole output,
    `transcripts/S1.1.json` an attempt's messages, `steps/S1.json` a step with its attempts so far
    or the run that it was taken over from, `artifacts/S1/1/NAME` a file that its first attempt
    left, `calls/` the journals of calls of tools, `begun/` once more which of them were begun,
    `python/` what calls of Python go on from, `questions/`, `answers/` and `forms/` what a person
    was asked and decided, `events.jsonl` what happened, `accounts.jsonl` what calls took,
    `answered/` and `starts/` what attempts came to on other machines and where they were begun,
    `again.json` how often steps were begun again, `result.json` the result.
    """

    __slots__ = ()

    @abstractmethod
    def other(self, run_id: str) -> FiledRun:
        """Return another run, which is kept where this one is."""

    @abstractmethod
    def has_started(self) -> bool:
        """Say whether anything is kept of the run."""

    @abstractmethod
    def exclusive(self, lost: Callable[[], object] = ...) -> AbstractContextManager[None]:
        """Be the one that executes the run."""

    @abstractmethod
    def is_executed(self) -> bool:
        """Say whether a process executes the run."""

    @abstractmethod
    def token(self) -> int:
        """Return what names who executes the run, if it is this process."""

    @abstractmethod
    def take_part(
        self, token: int, key: str, place: str, sent: str = ""
    ) -> AbstractContextManager[int]:
        """Work on an attempt for the process that executes the run."""

    def write_start(self, key: str, place: str, sent: str, mark: str = "") -> int:
        """Write down that an attempt is begun; return how often it was for what it was sent as."""
        before = self.record("start", Start, key)
        number = before.number + 1 if before is not None and before.sent == sent else 1
        start = Start(place=place, at=time(), sent=sent, number=number, mark=mark)
        self.write_record("start", start, key)
        return number

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """Yield what each file holds."""

    @abstractmethod
    def erase(self) -> bool:
        """Remove the run, unless a process executes it."""

    @abstractmethod
    def event_log(self) -> AbstractContextManager[EventWriter]:
        """Open the events to append to them."""

    @abstractmethod
    def event_feed(self, start: int = 1) -> EventFeed:
        """Return a reader of the events."""

    @abstractmethod
    def events(self, kinds: Collection[str] = ()) -> Iterator[RunEvent]:
        """Yield the events, of all kinds or of some."""

    @abstractmethod
    def last_event(self) -> RunEvent | None:
        """Return the last event; None if there is none."""

    @abstractmethod
    def share(self, name: str, source: RunStore) -> bool:
        """Give a file of another run a second name here; False where that can't be.

        Raises:
            OSError: It isn't there, or can't be shared.
        """

    @abstractmethod
    def running_s(self) -> float | None:
        """Return the seconds since who executes the run began to; None if nobody does."""

    def place(self, what: Kept = "", key: str = "") -> str:
        """Return where something is, or would be, kept."""
        return self.where(name_of(what, key))

    def damage(self, what: Kept, problem: str | Exception, key: str = "") -> RunDamagedError:
        """Return what to say of a file that was read and is not what it should be."""
        error = ValueError(problem) if isinstance(problem, str) else problem
        return self._damage(name_of(what, key), error, _ADVICE.get(what, ""))

    # --- the run ------------------------------------------------------------------------------

    def write_about(self, about: About) -> None:
        """Write it twice: the accounts say so too, in case `run.json` is damaged."""
        known = {
            "flow_run_id": about.flow_run_id,
            "objective": about.objective,
            "started_at": about.started_at,
            "scheduled_at": about.scheduled_at,
            **({"deployment": about.deployment} if about.deployment else {}),
            **({"procedure": about.procedure} if about.procedure else {}),
        }
        self.append(ACCOUNTS, known)
        self.write(ABOUT, {**known, "options": dict(about.options or {})})

    def about(self) -> About:
        """Return how the run began, by `run.json` or else by the accounts."""
        with suppress(RunDamagedError):
            if "flow_run_id" in (found := self.read_json(ABOUT)):
                options: object = found.get("options")
                known = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
                return replace(_about(found), options=known)
        for line in self.lines(ACCOUNTS):
            if "flow_run_id" in line:
                return _about(line)
        return About()

    def write_inputs(self, texts: Mapping[str, str]) -> None:
        """Write the texts that the run was given."""
        self.write(INPUTS, dict(texts))

    def inputs(self) -> dict[str, str]:
        """Return the texts that the run was given."""
        with self._readable("inputs"):
            return {name: str(text) for name, text in read_object(self._text(INPUTS)).items()}

    # --- records ------------------------------------------------------------------------------

    def write_record(self, kind: RecordKind, record: BaseModel, key: str = "") -> None:
        """Write a record's file."""
        (self.store if kind in DEFERRED else self.write)(name_of(kind, key), record)

    def create_record(self, kind: RecordKind, record: BaseModel, key: str = "") -> bool:
        """Write a record's file if there is none."""
        try:
            self.create(name_of(kind, key), record)
        except FileExistsError:
            return False
        return True

    def record(self, kind: RecordKind, model: type[M], key: str = "") -> M | None:
        """Return what a record's file holds."""
        return self._model(kind, key, model)

    def records(self, kind: RecordKind, model: type[M], key: Callable[[M], str]) -> tuple[M, ...]:
        """Return what the files of a kind of record hold, in the order of their names."""
        found: list[M] = []
        for name in self.names(folder := KEYED[kind], ".json"):
            file = f"{folder}/{name}"
            try:
                with self._readable(kind, file=file):
                    record = _parsed(self._text(file), model)
            except RunDamagedError as error:
                _logger.warning("%s", error)
                continue
            if name_of(kind, key(record)) == file:
                found.append(record)
        return tuple(found)

    def remove_record(self, kind: RecordKind, key: str = "") -> None:
        """Remove a record's file."""
        self.remove(name_of(kind, key))

    # --- plan, steps, result ------------------------------------------------------------------

    def write_plan(self, plan: PlanRecord, *, required: bool = False) -> None:
        """Write the plan; the file says how often it was edited, if it was."""
        edits = {"edits": plan.edits} if plan.edits else {}
        (self.write if required else self.store)(PLAN, {**plan.plan, **edits})

    def plan(self) -> PlanRecord | None:
        """Return the plan, and how often it was edited."""
        if not (plan := self.read_json(PLAN)):
            return None
        with self._readable("plan"):
            return PlanRecord(plan, _EDITS.validate_python(plan.pop("edits", 0), strict=True))

    def save_step(self, step: StepState, *, required: bool = False) -> None:
        """Write how far a step is."""
        (self.write if required else self.store)(step_file(step.id), step)

    def step(self, name: str) -> StepState | None:
        """Return how far a step was when an attempt last ended; None if none had."""
        return self._read_model(step_file(name), StepState)

    def steps(self) -> tuple[StepState, ...]:
        """Return the steps that were begun or are over, in the order of their numbers."""
        found = (self.step(name) for name in self._step_names(STEPS, ".json"))
        return tuple(step for step in found if step is not None)

    def steps_of(self, contents: Mapping[str, bytes]) -> tuple[StepState, ...]:
        """Return steps whose files were read together, in the order of their numbers."""
        found: list[StepState] = []
        names = {name: name.partition("/")[2].removesuffix(".json") for name in contents}
        steps = {step: name for name, step in names.items() if is_step_id(step)}
        for step in sorted(steps, key=sort_key):
            with self.readable(name := steps[step]):
                found.append(_parsed(contents[name].decode(), StepState))
        return tuple(found)

    def forget_step(self, name: str) -> None:
        """Remove a step and then its output: one without a step counts for nothing."""
        self.remove(step_file(name))
        self.remove(output_file(name))

    def write_output(self, step: str, text: str) -> str:
        """Write a step's whole output."""
        return self.store(output_file(step), text)

    def output(self, step: str) -> str | None:
        """Return a step's whole output."""
        return self.read(output_file(step))

    def output_ref(self, step: str) -> str:
        """Return the path of a step's output below the folder of all runs."""
        return output_ref(self.run_id, step)

    def take_output(self, step: str, source: RunStore) -> bool:
        """Take over another run's output, without reading it where both are kept in one place.

        No run ever writes into an output; it puts another file in its place.
        """
        name = output_file(step)
        with suppress(OSError):
            if self.share(name, source):
                return True
        if (text := source.output(step)) is None:
            return False
        self.write(name, text)
        return True

    def finished_steps(self) -> tuple[str, ...]:
        """Ids of the steps whose outputs are stored, in the order of their numbers.

        Raises:
            RunDamagedError: They can't be listed.
        """
        return self._step_names("outputs", ".txt")

    def _step_names(self, folder: str, suffix: str) -> tuple[str, ...]:
        """The steps that a folder has files of, in the order of the steps' numbers."""
        names = (name.removesuffix(suffix) for name in self.names(folder, suffix))
        return tuple(sorted(filter(is_step_id, names), key=sort_key))

    def write_result(self, result: SwarmResult) -> None:
        """Write the result."""
        self.store(RESULT, result)

    def has_result(self) -> bool:
        """Say whether there is a result."""
        return self.has(RESULT)

    def result(self) -> SwarmResult | None:
        """Return the result."""
        return self._read_model(RESULT, SwarmResult)

    def restart_counts(self) -> dict[str, int]:
        """How often each step was begun again; those that never were are left out."""
        found = self.read_json(AGAIN)
        return {step: times for step, times in found.items() if type(times) is int and times > 0}

    def begin_again(self, result: SwarmResult, steps: Collection[str]) -> None:
        """Let some steps of a result be done from their first attempt again, and put it away.

        What failed for want of a key, a server or time would else fail again from the cache. The
        steps that had succeeded stay as they are.
        """
        before = self.restart_counts()
        self.write(AGAIN, before | {step: before.get(step, 0) + 1 for step in steps})
        for step in result.steps:
            if step.status != "succeeded":
                self.remove(step_file(step.id))
        self.remove(RESULT)

    # --- appended -----------------------------------------------------------------------------

    def book(self, booking: Booking) -> None:
        """Append a line to the accounts."""
        self.append(ACCOUNTS, booking)

    def accounts(self) -> Accounts:
        """Return what the accounts say."""
        return Accounts.of(self.lines(ACCOUNTS))

    def append_call(self, journal: Journal, name: str, entry: BaseModel) -> None:
        """Append a line to a journal."""
        self.append(name_of(journal, name), entry, durable=True)

    def calls(self, journal: Journal, name: str) -> list[str]:
        """Return the lines of a journal, those that were cut off among them."""
        text = (self.read_bytes(name_of(journal, name)) or b"").decode("utf-8", "replace")
        return [line for line in text.split("\n") if line.strip()]

    def call_journals(self, journal: Journal) -> list[str]:
        """Return the names of the journals that there are."""
        return [name.removesuffix(".jsonl") for name in self.names(journal, ".jsonl")]

    # --- texts and files of attempts ----------------------------------------------------------

    def write_transcript(self, attempt: str, messages: str) -> None:
        """Write what an attempt was sent and answered."""
        self.store(f"{TRANSCRIPTS}/{attempt}.json", messages)

    def transcripts(self, attempt: str) -> Iterator[str]:
        """Yield the messages of an attempt, or of each of its samples, by their numbers."""
        samples: list[str] = []
        with suppress(RunDamagedError):
            found = self.names(TRANSCRIPTS, ".json")
            samples = [name for name in found if name.startswith(f"{attempt}.")]
        names = [f"{attempt}.json", *sorted(samples, key=lambda name: (len(name), name))]
        for name in dict.fromkeys(names):
            with suppress(RunDamagedError):
                if (text := self.read(f"{TRANSCRIPTS}/{name}")) is not None:
                    yield text

    def write_artifacts(self, step: str, attempt: str, files: Mapping[str, bytes]) -> None:
        """Write the files of an attempt: `artifacts/S1/2/plot.png` is of S1's second one.

        `artifacts/S1/2.1/plot.png` is of that one's first sample.
        """
        name = f"{ARTIFACTS}/{step or 'plan'}/{attempt.removeprefix(f'{step}.')}"
        before = self.names_below(name)
        for path in before:
            if path not in files:
                self.remove(f"{name}/{path}")
        # Empty folders go: a file may come in the place of one.
        with suppress(OSError):
            self.files.prune(name)
        for path, data in files.items():
            if path not in before or self.read_bytes(f"{name}/{path}") != data:
                self.write(f"{name}/{path}", data)

    def artifacts(self, step: StepState) -> dict[str, Artifact]:
        """Return the files of the last attempt of a step, with their paths."""
        found: dict[str, Artifact] = {}
        for path, name in self._artifact_files(step).items():
            with self.readable(name):
                size = self.files.size(name)
            found[path] = Artifact(size, self.where(name))
        return found

    def read_artifacts(self, step: StepState) -> dict[str, bytes]:
        """Return what these files hold."""
        files = self._artifact_files(step)
        return {path: self.read_bytes(name) or b"" for path, name in files.items()}

    def _artifact_files(self, step: StepState) -> dict[str, str]:
        if not step.attempts:
            return {}
        number = str(step.attempts[-1].number)
        root = f"{ARTIFACTS}/{step.id}"
        samples = [
            (int(found[1]), name)
            for name in self.names(root)
            if (found := re.fullmatch(rf"{number}\.([0-9]{{1,9}})", name))
        ]
        attempts = [number, *(name for _, name in sorted(samples))]
        below = {name: files for name in attempts if (files := self.names_below(f"{root}/{name}"))}
        return {
            path if len(below) == 1 else f"{name}/{path}": f"{root}/{name}/{path}"
            for name, files in below.items()
            for path in files
        }

    def write_picture(self, name: str, data: bytes) -> None:
        """Write a picture."""
        self.write(f"{PICTURES}/{name}", data)

    def picture(self, name: str) -> bytes | None:
        """Return a picture; None for a name that isn't plain, too."""
        return self.read_bytes(f"{PICTURES}/{name}") if is_plain_name(name) else None

    def write_tool_state(
        self, attempt: str, state: BaseModel, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Write a tool's state; blobs that are there are neither changed nor written twice."""
        folder = f"{TOOL_STATE}/{attempt}"
        for name, data in (blobs or {}).items():
            if not self.has(f"{folder}/{name}"):
                self.write(f"{folder}/{name}", data)
        self.write(name_of("tool_state", attempt), state)
        if blobs is not None:
            for name in self.names(folder):
                if name not in blobs and not name.endswith(".json") and name[0] != ".":
                    self.remove(f"{folder}/{name}")

    def tool_state(self, attempt: str, model: type[M]) -> M | None:
        """Return a tool's state."""
        return self._model("tool_state", attempt, model)

    def tool_blob(self, attempt: str, name: str) -> bytes:
        """Return a blob of a tool's state."""
        file = f"{TOOL_STATE}/{attempt}/{name}"
        data = self.read_bytes(file)
        if data is None or hashlib.sha256(data).hexdigest() != name:
            why = "it has other content than its name says" if data else "it is missing"
            raise self._damage(file, ValueError(why), _ADVICE["tool_state"])
        return data

    def _text(self, name: str) -> str:
        return "{}" if (text := self.read(name)) is None else text

    def _model(self, what: Kept, key: str, model: type[M]) -> M | None:
        with self._readable(what, key):
            text = self.read(name_of(what, key))
            return None if text is None else _parsed(text, model)

    def _read_model(self, name: str, model: type[M]) -> M | None:
        text = self.read(name)
        with self.readable(name):
            return None if text is None else _parsed(text, model)

    @contextmanager
    def _readable(self, what: Kept, key: str = "", *, file: str = "") -> Generator[None]:
        """Do as `readable` does, with the advice for what is read."""
        advice = _ADVICE.get(what, "")
        try:
            yield
        except RunDamagedError as error:
            raise (RunDamagedError(error.problem, advice) if advice else error) from None
        except (OSError, ValueError) as error:
            raise self._damage(file or name_of(what, key), error, advice) from None

    def damaged(self, name: str, error: Exception) -> RunDamagedError:
        """Return what to say of a file that can't be read."""
        return self._damage(name, error, "")

    def _damage(self, name: str, error: Exception, advice: str) -> RunDamagedError:
        if isinstance(error, UnsafeFileError):
            advice = "No run writes such a file. Look where it came from, and remove it."
        advice = advice or f"Have it written again: prefect-swarm resume {self.run_id}."
        return RunDamagedError(f"{self.where(name)} is damaged: {damage_of(error)}.", advice)


def _about(found: Mapping[str, Any]) -> About:
    flow_run_id, objective = found.get("flow_run_id"), found.get("objective", "")
    return About(
        str(flow_run_id or ""),
        str(objective),
        moment_of(found.get("started_at")),
        scheduled_at=moment_of(found.get("scheduled_at")),
        deployment=str(found.get("deployment") or ""),
        procedure=str(found.get("procedure") or ""),
    )


def _parsed(text: str, model: type[M]) -> M:
    read_object(text)  # What readers understand differently is refused.
    return model.model_validate_json(text)


def copy_run(source: FiledRun, target: FiledRun) -> None:
    """Have all files of a run in the place of those of another one, the one that names it last.

    Raises:
        RunDamagedError: One can't be read, or has a name that no file may have.
        StorageError: One can't be written.
    """
    names = [name for name in source.names_below() if not _is_own(name)]
    for name in target.names_below():
        if not _is_own(name):
            target.remove(name)
    for name in sorted(names, key=lambda name: (name == ABOUT, name)):
        data = source.read_bytes(name) or b""
        if name.endswith(LINES):
            for line in filter(None, data.split(b"\n")):
                target.append(name, line.decode("utf-8", "replace"), durable=True)
        else:
            target.write(name, data)


def _is_own(name: str) -> bool:
    """Whether a file belongs to the place, and not to the run: a lock, or what a kill left."""
    return name == LOCK or any(part.startswith(".") for part in name.split("/"))
