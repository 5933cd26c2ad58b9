"""`RunStore`: all that is kept of one run, and what its readers and writers may rely on.

Promises that each adapter keeps, and that `tests/store/test_run_store.py` holds it to:

- **Atomic.** A record, an output, a plan, a step, a result is there whole or not at all, also after
  a kill in the middle of its write; what was there before stays until then.
- **Ordered.** Events, bookings and entries of a journal are read back in the order in which they
  were appended. What a kill cut off counts as never written, and spoils nothing after it.
- **First wins.** Of several processes that create a record of one key, exactly one succeeds.
- **Written before acted on.** What a method wrote survives a kill of the process from the moment
  it returns; an entry of a journal survives a crash of the machine, too.
- **A full disk costs no run.** Steps, outputs, the plan, the result, transcripts and the records
  of `DEFERRED` are kept in memory where there is no room, and written with the next of them.
  Everything else raises `StorageError`, and what it speaks of must not happen.
- **Nothing is trusted.** What can't be read, or is something else than it should be, raises
  `RunDamagedError` with what to do about it; what isn't there is None or empty.
- **One owner.** The process in `exclusive()` is the only one that executes the run. Answers are
  created, and everything is read, without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from pydantic import BaseModel

from ..errors import RunDamagedError
from .accounts import Accounts, Booking
from .events import RunEvent
from .result import SwarmResult
from .step import StepState

__all__ = [
    "DEFERRED",
    "PICTURE",
    "About",
    "Artifact",
    "EventFeed",
    "EventWriter",
    "Journal",
    "Kept",
    "PlanRecord",
    "RecordKind",
    "RunStore",
    "is_whole_id",
    "picture_stem",
    "run_id_of",
]

RecordKind = Literal[
    "answer",
    "answered",
    "expansion",
    "exploration",
    "facts",
    "form",
    "member",
    "message",
    "planning",
    "prestart",
    "question",
    "recall",
    "source_plan",
    "start",
    "trace",
    "turn",
]
"""Records by what they are of; each has a key, which is "" where a run has one of the kind.

`source_plan`: the plan that a run was given where its parameters can't hold it. `planning`: the
plan, and where it came from. `exploration`, `facts`: what the orchestrator looked at first, and is
shown. `expansion`: the items that a step is done for. `member`: a finished instance whose id
got another meaning; its key says what it was asked for. `recall`: what the memory made of the plan;
its key is how often that had been edited. `prestart`: what was answered before there was a plan.
`question`, `answer`, `form`: what a person is asked and decided, and the forms in Prefect's UI.
`trace`: the run's span. `turn`: what the orchestrator decided in a turn; its key is the number.
`message`: what a person wrote to the orchestrator; its key is the number. `answered`: what an
attempt came to on another machine, and `start`: the last time that it was begun on one; their key
is the attempt's cache key.
"""
DEFERRED: frozenset[RecordKind] = frozenset(
    {"exploration", "facts", "planning", "prestart", "recall", "trace"}
)
"""The records that can be made again, so that a full disk doesn't end the run."""

Journal = Literal["calls", "begun"]
"""`calls` has what an attempt's tools did; `begun` once more which of the calls were begun."""

Kept = Literal[
    RecordKind,
    Journal,
    "",
    "about",
    "inputs",
    "picture",
    "plan",
    "output",
    "result",
    "tool_state",
]
"""What a place can be of; "" is the run itself."""

M = TypeVar("M", bound=BaseModel)


PICTURE = "picture-"
"""What the names of pictures begin with that calls returned."""


def picture_stem(picture: bytes) -> str:
    """Return the name of a picture, which tells what it holds, without the ending of its kind."""
    return f"{PICTURE}{hashlib.sha256(picture).hexdigest()[:16]}"


def run_id_of(flow_run_id: str) -> str:
    """Return the short name of a run: the first twelve digits of its flow run's id."""
    return flow_run_id.replace("-", "")[:12]


def is_whole_id(name: str) -> bool:
    """Say whether a run's name is the whole id of its flow run, and not only the run's own."""
    try:
        UUID(name.strip())
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class About:
    """How a run began.

    Attributes:
        flow_run_id: "" where nothing says it any more.
        started_at: Seconds since the Unix epoch; None if not known.
        options: Those that the run was first started with; None if not known.
        deployment: Prefect's id of the deployment that it is a run of; "" if of none.
        scheduled_at: When Prefect was to start it, in the same seconds; None if not known.
        procedure: The procedure whose plan it does, with its version; "" if none's.
    """

    flow_run_id: str = ""
    objective: str = ""
    started_at: float | None = None
    options: Mapping[str, Any] | None = None
    deployment: str = ""
    scheduled_at: float | None = None
    procedure: str = ""

    def __bool__(self) -> bool:
        return bool(self.flow_run_id)


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A compiled plan, as JSON's object, and how often a person had edited it."""

    plan: Mapping[str, Any] = field(default_factory=dict[str, Any])
    edits: int = 0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that an attempt left: its bytes, and where a person finds it."""

    size: int
    place: str


class EventWriter(Protocol):
    """Numbers the events of a run and appends them. It never raises: events cost no run."""

    @property
    def was_started(self) -> bool:
        """Whether an event was appended, by this process or an earlier one."""
        ...

    @property
    def left_at(self) -> float:
        """When the last event of an earlier process happened; 0 if there was none."""
        ...

    def add(self, event: RunEvent, run: str) -> RunEvent:
        """Append an event, and return it with its number and time."""
        ...


class EventFeed(Protocol):
    """Reads the events of a run that may still go on."""

    is_finished: bool
    """Whether the last event that was read is the last of its process."""

    def fresh(self) -> Iterator[RunEvent]:
        """Yield the events that were appended since the last call.

        Raises:
            RunDamagedError: They can't be read.
        """
        ...


class RunStore(Protocol):
    """All that is kept of one run. See the module for what it promises."""

    @property
    def run_id(self) -> str:
        """The run's short name."""
        ...

    def other(self, run_id: str) -> RunStore:
        """Return the store of another run, which is kept where this one is."""
        ...

    def place(self, what: Kept = "", key: str = "") -> str:
        """Return where something is, or would be, kept, for a person who looks for it."""
        ...

    def damage(self, what: Kept, problem: str | Exception, key: str = "") -> RunDamagedError:
        """Return the error for something that was read and is not what it should be."""
        ...

    # --- the run ------------------------------------------------------------------------------

    def has_started(self) -> bool:
        """Say whether anything is kept of the run; that it was once executed is nothing."""
        ...

    def exclusive(self, lost: Callable[[], object] = ...) -> AbstractContextManager[None]:
        """Be the one that executes the run; who is that already may enter again.

        Args:
            lost: Called by any thread, once, where another process took the run over. From then
                on all that this one writes of it is refused.

        Raises:
            RunAliveError: Another process, or another task of this one, executes it; or did so when
                it was left.
            RunDamagedError: What is kept of the run is not safe to use.
        """
        ...

    def is_executed(self) -> bool:
        """Say whether a process executes the run, as far as it can be seen from here."""
        ...

    def token(self) -> int:
        """Return what names who executes the run, if it is this process; 0 where nothing does."""
        ...

    def take_part(
        self, token: int, key: str, place: str, sent: str = ""
    ) -> AbstractContextManager[int]:
        """Work on an attempt for the process that executes the run, and write in its name.

        Yields how often that was begun for what it was sent as, this time included.

        What the code inside writes is refused from the moment at which another process executes
        the run, or the attempt is begun once more; a folder refuses nothing.

        Args:
            token: That process's.
            key: The attempt's cache key.
            place: Where it is worked on, for a person.
            sent: What it was sent as; another name begins to count anew.

        Raises:
            RunNotFoundError: The run isn't kept where this process looks for it.
            RunTakenError: Another process executes it by now.
        """
        ...

    def remove_temporary_files(self) -> None:
        """Remove what killed processes left half written; only in `exclusive()`."""
        ...

    def store_pending(self) -> tuple[str, ...]:
        """Try once more to write what there was no room for; return the names of what waits."""
        ...

    def write_about(self, about: About) -> None:
        """Write how the run begins. From then on it has begun, and is found by its id."""
        ...

    def about(self) -> About:
        """Return how the run began; what is damaged is as if it weren't there."""
        ...

    def write_inputs(self, texts: Mapping[str, str]) -> None:
        """Write the texts that the run was given, by their names."""
        ...

    def inputs(self) -> dict[str, str]:
        """Return the texts that the run was given."""
        ...

    def texts(self) -> Iterator[str]:
        """Yield all that is kept of the run as texts, to search in; also what is damaged.

        Raises:
            OSError: Something can't be read.
        """
        ...

    def erase(self) -> bool:
        """Remove all that is kept of the run; False if a process executes it, and it stays.

        Raises:
            OSError: Something can't be removed; a call that was killed can be made again.
        """
        ...

    # --- records ------------------------------------------------------------------------------

    def write_record(self, kind: RecordKind, record: BaseModel, key: str = "") -> None:
        """Write a record in the place of the one that has its kind and key."""
        ...

    def create_record(self, kind: RecordKind, record: BaseModel, key: str = "") -> bool:
        """Write a record that isn't there yet; False if it is. Never deferred."""
        ...

    def record(self, kind: RecordKind, model: type[M], key: str = "") -> M | None:
        """Return a record; None if there is none."""
        ...

    def records(self, kind: RecordKind, model: type[M], key: Callable[[M], str]) -> tuple[M, ...]:
        """Return all records of a kind; a damaged one costs a warning.

        Args:
            key: Says a record's own key. One that lies under another key counts as damaged: it
                would be shown in the place of the one that is meant.
        """
        ...

    def remove_record(self, kind: RecordKind, key: str = "") -> None:
        """Remove a record; nothing is wrong where there is none."""
        ...

    # --- plan, steps, result ------------------------------------------------------------------

    def write_plan(self, plan: PlanRecord, *, required: bool = False) -> None:
        """Write the compiled plan; `required` raises `StorageError` rather than defer it."""
        ...

    def plan(self) -> PlanRecord | None:
        """Return the compiled plan; None if there is none yet."""
        ...

    def save_step(self, step: StepState, *, required: bool = False) -> None:
        """Write how far a step is; `required` raises `StorageError` rather than defer it."""
        ...

    def step(self, name: str) -> StepState | None:
        """Return how far a step was when an attempt last ended; None if none had."""
        ...

    def steps(self) -> tuple[StepState, ...]:
        """Return the steps that were begun or are over, in the order of their numbers."""
        ...

    def forget_step(self, name: str) -> None:
        """Remove a step and then its output; an output without a step counts for nothing."""
        ...

    def write_output(self, step: str, text: str) -> str:
        """Write a step's whole output, and return its reference."""
        ...

    def output(self, step: str) -> str | None:
        """Return a step's whole output; None if there is none."""
        ...

    def output_ref(self, step: str) -> str:
        """Return the reference of a step's output, whether it is there or not."""
        ...

    def take_output(self, step: str, source: RunStore) -> bool:
        """Take a step's output over from another run; False if that one has none.

        Raises:
            StorageError: There is no room for it.
        """
        ...

    def finished_steps(self) -> tuple[str, ...]:
        """Return the ids of the steps that have an output, in the order of their numbers."""
        ...

    def write_result(self, result: SwarmResult) -> None:
        """Write the result. From then on the run has ended."""
        ...

    def has_result(self) -> bool:
        """Say whether there is a result, without reading it."""
        ...

    def result(self) -> SwarmResult | None:
        """Return the result; None if the run has not ended."""
        ...

    def begin_again(self, result: SwarmResult, steps: Collection[str]) -> None:
        """Have some steps of a result done from their first attempt again, and remove the result.

        What failed for want of a key, a server or time would else fail again from the cache. The
        steps that had succeeded stay as they are.
        """
        ...

    def restart_counts(self) -> dict[str, int]:
        """Return how often each step was begun again, without those that never were."""
        ...

    # --- appended -----------------------------------------------------------------------------

    def book(self, booking: Booking) -> None:
        """Append to the accounts: a reservation before its call is made, then what it took."""
        ...

    def accounts(self) -> Accounts:
        """Return what all processes of the run booked."""
        ...

    def event_log(self) -> AbstractContextManager[EventWriter]:
        """Open the run's events to append to them, after those of earlier processes."""
        ...

    def event_feed(self, start: int = 1) -> EventFeed:
        """Return a reader that begins with the event of a number, or the first one after it."""
        ...

    def events(self, kinds: Collection[str] = ()) -> Iterator[RunEvent]:
        """Yield the events that there are; of some kinds alone, if any are named."""
        ...

    def last_event(self) -> RunEvent | None:
        """Return the last event; None if there is none."""
        ...

    def append_call(self, journal: Journal, name: str, entry: BaseModel) -> None:
        """Append to a journal of calls; the entry is on the disk when this returns."""
        ...

    def calls(self, journal: Journal, name: str) -> list[str]:
        """Return the entries of a journal, as JSON, with what of them is damaged."""
        ...

    def call_journals(self, journal: Journal) -> list[str]:
        """Return the names of the journals that there are, sorted."""
        ...

    # --- texts and files of attempts ----------------------------------------------------------

    def write_transcript(self, attempt: str, messages: str) -> None:
        """Write what an attempt was sent and answered, as JSON."""
        ...

    def transcripts(self, attempt: str) -> Iterator[str]:
        """Yield the messages of an attempt, or of each sample, without damaged ones."""
        ...

    def write_artifacts(self, step: str, attempt: str, files: Mapping[str, bytes]) -> None:
        """Have the files of an attempt be these, by their paths, and no others.

        Args:
            step: The step's id; "" for the orchestrator.
            attempt: As `ToolsetUse` names it.
            files: What they hold.
        """
        ...

    def artifacts(self, step: StepState) -> dict[str, Artifact]:
        """Return the files that the last attempt of a step left, by their paths.

        Where it is some samples, and more than one of them left files, paths begin with the sample.
        """
        ...

    def read_artifacts(self, step: StepState) -> dict[str, bytes]:
        """Return what these files hold, by their paths."""
        ...

    def write_picture(self, name: str, data: bytes) -> None:
        """Write a picture that a tool returned, under a name that says what it holds."""
        ...

    def picture(self, name: str) -> bytes | None:
        """Return a picture; None if there is none."""
        ...

    def write_tool_state(
        self, attempt: str, state: BaseModel, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Write what a tool goes on from in an attempt: its blobs first, then its state.

        Args:
            blobs: What the state refers to, by SHA-256: from now on there are no others. None
                leaves those of before.
        """
        ...

    def tool_state(self, attempt: str, model: type[M]) -> M | None:
        """Return what a tool goes on from in an attempt; None if nothing was written."""
        ...

    def tool_blob(self, attempt: str, name: str) -> bytes:
        """Return a blob of an attempt's state.

        Raises:
            RunDamagedError: It isn't there, or has another SHA-256.
        """
        ...
