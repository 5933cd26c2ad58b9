"""The runs that are stored: each by its name, and all of them, without a Prefect server."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

from ..data_types import Count, Finite, Moment, moment_of
from ..errors import InputError, RunNotFoundError, StorageError
from ..plan.ids import is_step_id, parent_of
from ..settings import PREFIX, SwarmSettings, home, read_secret_block
from ..untrusted.folder import MOST_TEXT_BYTES, damage_of
from ..untrusted.json_text import STEP_ID, read_object
from .filed_run import FiledRun, copy_run
from .folder import RunFolder
from .layout import ABOUT, LOCK, PLAN, RESULT, name_of
from .losses import lost_of
from .protocol import RunStore

if TYPE_CHECKING:
    from .postgres import PostgresRun, StoredBeginning

__all__ = [
    "STATUSES",
    "ListedRun",
    "RunStatus",
    "StoreKind",
    "Usual",
    "find_run",
    "find_usual",
    "list_runs",
    "median_known",
    "move_run",
    "open_listed",
    "open_run",
    "place_of_runs",
    "runs_alike",
    "store_address",
    "stored_runs",
    "try_store",
    "usual_of",
]


StoreKind = Literal["folder", "store"]
"""Where a run may be: in the data folder, or in the database of the setting."""
_TRIES = 10
_BLOCK = "block:"
_SETTING = f"{PREFIX}store".upper()


@lru_cache(maxsize=1)
def store_address() -> str:
    """Return the address of the database that runs are stored in; "" if they are in a folder.

    Remembered, because reading the settings takes longer than a small write does. A block is read
    once in a process.

    Raises:
        InputError: The block that has it isn't there, or has something else.
        ServerError: The block's server can't be asked.
    """
    address = SwarmSettings().store or ""
    if not address.startswith(_BLOCK):
        return address
    found = read_secret_block(address)
    if not found.startswith(("postgresql://", "postgres://")):
        raise InputError(
            f"{address}, which {_SETTING} names, has no address of a PostgreSQL server.",
            "Have it begin with postgresql://",
        )
    return found


def place_of_runs() -> str:
    """Return where runs are stored, for a person who looks for them."""
    if dsn := store_address():
        from .postgres_server import server_at

        return str(server_at(dsn))
    return str(home())


def open_run(flow_run_id: str) -> RunStore:
    """Return the store of a flow run's run; nothing is made yet.

    Raises:
        RunNotFoundError: No run can have such a name.
        StorageError: Runs are in a database whose driver isn't installed.
    """
    if dsn := store_address():
        return _database().of(dsn, flow_run_id)
    return RunFolder.of(flow_run_id)


def find_run(name: str) -> RunStore:
    """Find a run by its id or its flow run's id.

    Raises:
        RunDamagedError: What is kept of it doesn't say which flow run it was, and the name
            doesn't; or it isn't safe to read.
        RunNotFoundError: There is none.
        StorageError: Runs are in a database that can't be reached.
    """
    if not (dsn := store_address()):
        return RunFolder.find(name)
    try:
        return _database().find(dsn, name)
    except RunNotFoundError as error:
        try:
            here = RunFolder.find(name)
        except RunNotFoundError:
            raise error from None
        raise RunNotFoundError(
            f"{error.problem.rstrip('.')}; it is in {here.folder}.",
            f"Bring it to the store: prefect-swarm runs --move {here.run_id}",
        ) from None


def stored_runs() -> tuple[RunStore, ...]:
    """Return the stores of all runs, in the order of their names.

    Raises:
        OSError: They can't be listed.
        StorageError: They are in a database that can't be reached.
    """
    if dsn := store_address():
        runs = (found.run for found in _database().all(dsn, _HEAD))
        return tuple(sorted(runs, key=lambda run: run.run_id))
    folder = _runs_folder()
    if not folder.is_dir():
        return ()
    return tuple(RunFolder(path) for path in sorted(folder.iterdir()) if path.is_dir())


def move_run(name: str, where: StoreKind) -> RunStore:
    """Bring a run, whole, from the folder to the database or back, and return it there.

    What is there already of an earlier try, which was broken off, is written again. The run is
    removed where it was only once all of it is where it is to be.

    Raises:
        InputError: No database is set, or another run of that name is there.
        RunAliveError: A process executes it.
        RunNotFoundError: It isn't where it would be moved from.
        StorageError: It can't be written.
    """
    if not (dsn := store_address()):
        raise InputError(
            "No database is set to move runs to or from.",
            f"Set {_SETTING} to the address of a PostgreSQL server.",
        )
    source: FiledRun = RunFolder.find(name) if where == "store" else _database().find(dsn, name)
    target: FiledRun = (
        _database().of(dsn, source.run_id) if where == "store" else RunFolder.of(source.run_id)
    )
    with source.exclusive(), target.exclusive():
        there, here = target.about().flow_run_id, source.about().flow_run_id
        if there not in ("", here):
            raise InputError(
                f"{target.where()} is flow run {there}, and {source.where()} is {here}.",
                "Remove the one that you don't want.",
            )
        copy_run(source, target)
    source.erase()
    return target


def try_store() -> float:
    """Own, write, read and remove a run of no flow run; return the seconds that a write takes.

    Raises:
        StorageError: The database can't be used so.
    """
    run = open_run(f"doctor-{uuid4().hex}").other(f"doctor-{uuid4().hex[:8]}")
    try:
        with run.exclusive():
            began = time.perf_counter()
            for number in range(_TRIES):
                run.write_output("S1", str(number))
            took_s = (time.perf_counter() - began) / _TRIES
            if run.output("S1") != str(_TRIES - 1):
                raise StorageError(f"{run.place()} has not what was just written.", "")
    finally:
        run.erase()
    return took_s


def open_listed(run: ListedRun) -> RunStore:
    """Return the store of a run that was listed."""
    if dsn := store_address():
        return _database().of(dsn, run.run_id)
    return RunFolder(_runs_folder() / run.run_id)


def _runs_folder() -> Path:
    """Return the folder that has a folder for each run."""
    return home() / "runs"


def _database() -> type[PostgresRun]:
    # Only who has runs in a database needs its driver.
    from .postgres import PostgresRun

    return PostgresRun


RunStatus = Literal["completed", "partial", "failed", "running", "waiting", "stopped", "damaged"]
"""`stopped`: it has not ended, and no process that can be seen from here executes it. `waiting`:
neither, and a person hasn't answered yet what it asks."""
STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)

# Results are written with their status near the beginning; the rest may be megabytes.
_STATUS = re.compile(rb'^  "status": "([a-z]+)",?$', re.MULTILINE)
_HEAD = 1024
_FIGURES = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A stored run.

    Attributes:
        started_at: Seconds since 1970; the folder's own time where the run's can't be read.
        steps: How many its plan has; None if it had none yet.
        done: How many of them have their output.
        instances: How often steps with members are to be done: once for each item, round and step
            inside. None until the run has ended, since only then all of them are known.
        instances_done: How many of these have their output.
        makespan_s, tokens, usd: What it took; None if it hasn't ended or is not known.
        running_s: Seconds since the process that executes it began to; None if none does.
        missing: How many steps and items failed for good; None until the run has ended.
        deployment: Prefect's id of the deployment that it is a run of; "" if of none.
        procedure: The procedure whose plan it does, with its version; "" if none's.
        damage: What can't be read; "" if all can.
    """

    run_id: str
    status: RunStatus
    started_at: float
    objective: str = ""
    flow_run_id: str = ""
    steps: int | None = None
    makespan_s: float | None = None
    tokens: int | None = None
    usd: float | None = None
    damage: str = ""
    done: int | None = None
    instances: int | None = None
    instances_done: int | None = None
    running_s: float | None = None
    missing: int | None = None
    deployment: str = ""
    procedure: str = ""

    @property
    def figures(self) -> list[str]:
        """The figures in its objective, in their order."""
        return _FIGURES.findall(self.objective)

    @property
    def kind(self) -> str:
        """What runs like it have, too: the deployment, or the objective but for its figures.

        Runs of a procedure are alike whatever their parameters, and its version, are.
        """
        if self.deployment:
            return self.deployment
        if self.procedure:
            return f"procedure {self.procedure.partition('@')[0]}"
        return _FIGURES.sub("#", " ".join(self.objective.casefold().split()))


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What is known of a run before its result is looked at.

    Attributes:
        head: The first bytes of its result, where they were read together with the rest.
    """

    run: FiledRun
    started_at: float
    objective: str = ""
    flow_run_id: str = ""
    damage: str = ""
    deployment: str = ""
    procedure: str = ""
    head: bytes | None = None

    @property
    def name(self) -> str:
        return _written(self.run.run_id)

    def ended(self, status: RunStatus, damage: str = "", **figures: Any) -> ListedRun:
        return ListedRun(
            self.name,
            status,
            self.started_at,
            self.objective,
            self.flow_run_id,
            damage=damage,
            deployment=self.deployment,
            procedure=self.procedure,
            **figures,
        )


def list_runs(
    words: tuple[str, ...] = (),
    statuses: frozenset[RunStatus] = frozenset(),
    *,
    since: float = 0.0,
    procedure: str = "",
    folder: Path | None = None,
) -> Iterator[ListedRun]:
    """Go through the stored runs, newest first.

    Args:
        words: All of them have to be in the objective or the id, in any case.
        statuses: The run has one of these; any, if there are none.
        since: The run began at this time or later, in seconds since 1970.
        procedure: The run does the plan of this procedure, or of this version of one; "" for any.
        folder: Holds a folder for each run; if it is left out, the runs are where they are stored.

    Raises:
        StorageError: They are in a database that can't be reached.
    """
    started = sorted(_beginnings(folder), key=lambda run: (-run.started_at, run.name))
    wanted = [word.casefold() for word in words]
    for run in started:
        if run.started_at < since:
            break
        text = f"{run.objective}\n{run.name}\n{run.flow_run_id}".casefold()
        if not all(word in text for word in wanted):
            continue
        if procedure and procedure not in (run.procedure, run.procedure.partition("@")[0]):
            continue
        if not _may_have(run, statuses):
            continue
        listed = _listed(run)
        if not statuses or listed.status in statuses:
            yield listed


@dataclass(frozen=True, slots=True)
class Usual:
    """The medians of the runs like one, up to ten that ended before it or after it.

    Attributes:
        runs: How many there are.
        seconds, tokens, usd: What they took; None where none of them has it.
    """

    runs: int
    seconds: float | None = None
    tokens: float | None = None
    usd: float | None = None


_LEAST_ALIKE = 2


def runs_alike(run: ListedRun, others: Iterable[ListedRun]) -> list[ListedRun]:
    """Return the first ten of the others that are like a run and have ended. Pure.

    Runs are alike that are of the same deployment, or without one have the same objective but for
    its figures: `Report of 27 November` is like `Report of 26 November`.
    """
    alike = (
        other
        for other in others
        if other.kind == run.kind and other.run_id != run.run_id and other.status in _ENDED
    )
    return list(islice(alike, _MOST_ALIKE))


def usual_of(run: ListedRun, others: Iterable[ListedRun]) -> Usual | None:
    """Return what is usual for runs like one; None where fewer than two others have ended. Pure."""
    found = runs_alike(run, others)
    if len(found) < _LEAST_ALIKE:
        return None
    return Usual(
        len(found),
        median_known(each.makespan_s for each in found),
        median_known(each.tokens for each in found),
        median_known(each.usd for each in found),
    )


_ENDED = ("completed", "partial")
_MOST_ALIKE = 10


def median_known(values: Iterable[float | None]) -> float | None:
    """Return the median of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def find_usual(runs: Collection[ListedRun], *, folder: Path | None = None) -> dict[str, Usual]:
    """Return what is usual for each of some runs, by its id; those without others are missing.

    Args:
        runs: Runs that were listed.
        folder: Holds a folder for each run; if it is left out, the runs are where they are stored.
    """
    wanted = {run.kind for run in runs}
    counts = Counter[str]()
    known = {run.run_id: run for run in runs}
    others: dict[str, list[ListedRun]] = {}
    started = sorted(_beginnings(folder), key=lambda run: -run.started_at)
    for begun in started:
        kind = begun.ended("stopped").kind
        # One more than count: a run isn't counted among those like itself.
        if begun.damage or kind not in wanted or counts[kind] > _MOST_ALIKE:
            continue
        other = known.get(begun.name) or _listed(begun)
        others.setdefault(kind, []).append(other)
        counts[kind] += other.status in _ENDED
    found = ((run.run_id, usual_of(run, others.get(run.kind, ()))) for run in runs)
    return {name: usual for name, usual in found if usual is not None}


def _beginnings(folder: Path | None) -> Iterator[_Beginning]:
    if folder is None and (dsn := store_address()):
        yield from map(_of_database, _database().all(dsn, _HEAD))
        return
    try:
        entries = list(os.scandir(folder or _runs_folder()))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if (run := _of_folder(Path(entry.path))) is not None:
            yield run


def _of_database(found: StoredBeginning) -> _Beginning:
    run, created_at, head = found.run, found.created_at, found.head or b""
    if found.about is None:
        return _Beginning(run, created_at, damage=f"{run.where(ABOUT)} is missing", head=head)
    try:
        about = _About.model_validate(read_object(found.about))
    except ValueError as error:
        damage = f"{run.where(ABOUT)}: {damage_of(error)}"
        return _Beginning(run, created_at, damage=damage, head=head)
    return _begun(run, about, head)


def _of_folder(folder: Path) -> _Beginning | None:
    """Read how a run began; None if the folder has no run, only a lock that was once held."""
    run = RunFolder(folder)
    if _written(folder.name) != folder.name:
        return _Beginning(run, _changed_at(folder), damage="the folder's name is not UTF-8")
    try:
        about = _read(run, ABOUT, _About)
    except FileNotFoundError:
        if not any(name != LOCK for name in _names(run)):
            return None
        damage = f"{run.where(ABOUT)} is missing"
    except (OSError, ValueError) as error:
        damage = f"{run.where(ABOUT)}: {damage_of(error)}"
    else:
        return _begun(run, about)
    return _Beginning(run, _changed_at(folder), damage=damage)


def _begun(run: FiledRun, about: _About, head: bytes | None = None) -> _Beginning:
    return _Beginning(
        run,
        about.started_at,
        about.objective,
        about.flow_run_id,
        deployment=about.deployment,
        procedure=about.procedure,
        head=head,
    )


def _may_have(run: _Beginning, statuses: frozenset[RunStatus]) -> bool:
    """Whether a run may have one of these statuses, by the first bytes of its result."""
    if not statuses or "damaged" in statuses or run.damage:
        return True
    try:
        head = run.run.files.head(RESULT, _HEAD) if run.head is None else run.head
    except OSError:
        return True
    found = _STATUS.search(head)
    return found is None or found[1].decode() in statuses


def _listed(run: _Beginning) -> ListedRun:
    if run.damage:
        return run.ended("damaged", run.damage)
    try:
        result = _read(run.run, RESULT, _Result)
        parents = {step.parent for step in result.steps}
        instances = [step for step in result.steps if step.parent and step.id not in parents]
        return run.ended(
            result.status,
            steps=sum(not step.parent for step in result.steps),
            done=sum(step.status == "succeeded" and not step.parent for step in result.steps),
            instances=len(instances),
            instances_done=sum(step.status == "succeeded" for step in instances),
            makespan_s=result.metrics.makespan_s,
            tokens=result.cost.tokens,
            usd=result.cost.money_usd,
            missing=len(lost_of(result.steps)),
        )
    except FileNotFoundError:
        return _unfinished(run)
    except (OSError, ValueError) as error:
        return run.ended("damaged", f"{run.run.where(RESULT)}: {damage_of(error)}")


def _unfinished(run: _Beginning) -> ListedRun:
    """Return how far a run without a result is, by its plan and the outputs that are there."""
    steps = done = instances = None
    with suppress(OSError, ValueError):
        steps = len(_read(run.run, PLAN, _Plan).steps)
        made = [name.removesuffix(".txt") for name in _names(run.run, name_of("output"))]
        done = sum(STEP_ID.fullmatch(name) is not None for name in made)
        parents = {name: parent_of(name) for name in made if is_step_id(name)}
        with_members = {*parents.values()}
        instances = sum(name not in with_members for name, parent in parents.items() if parent)
    if (running_s := run.run.running_s()) is not None:
        return run.ended(
            "running", steps=steps, done=done, instances_done=instances, running_s=running_s
        )
    try:
        asks = _asks(run.run)
    except OSError as error:
        return run.ended("damaged", f"{run.run.where()}: {damage_of(error)}")
    status: RunStatus = "waiting" if asks else "stopped"
    return run.ended(status, steps=steps, done=done, instances_done=instances)


class _Read(BaseModel):
    """What of a file is needed; nothing is taken for another type than it has."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _About(_Read):
    started_at: Moment
    objective: str
    flow_run_id: str
    deployment: str = ""
    procedure: str = ""


class _Step(_Read):
    status: str
    id: str = ""
    parent: str = ""
    category: str | None = None


class _Metrics(_Read):
    makespan_s: Finite | None


class _Cost(_Read):
    tokens: Count | None
    money_usd: Finite | None


class _Result(_Read):
    status: Literal["completed", "partial", "failed"]
    cost: _Cost
    metrics: _Metrics
    steps: list[_Step]


class _Plan(_Read):
    steps: list[Any]


_M = TypeVar("_M", bound=_Read)


def _read(run: FiledRun, name: str, model: type[_M]) -> _M:
    """Read a file of a run.

    Raises:
        OSError: The file can't be read.
        ValueError: It is not JSON, not UTF-8, or something else.
    """
    return model.model_validate(read_object(run.files.read(name, MOST_TEXT_BYTES)))


def _asks(run: FiledRun) -> bool:
    """Whether a run has a question without an answer."""
    asked, answered = run.files.names(name_of("question")), set(run.files.names(name_of("answer")))
    return any(name not in answered for name in asked if not name.startswith("."))


def _names(run: FiledRun, inner: str = "") -> list[str]:
    with suppress(OSError):
        return run.files.names(inner)
    return []


def _written(name: str) -> str:
    """Return a name as it can be written: those of files may have bytes that are no characters."""
    return os.fsencode(name).decode(errors="replace")


def _changed_at(path: Path) -> float:
    with suppress(OSError):
        return moment_of(path.lstat().st_mtime) or 0.0
    return 0.0
