"""The runs that are stored: each by its name, and all of them, without a Prefect server."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from ..data_types import Count, Finite, Moment, moment_of
from ..plan.ids import is_step_id, parent_of
from ..settings import home
from ..untrusted.folder import MOST_TEXT_BYTES, FolderReader, UntrustedFolder, damage_of
from ..untrusted.json_text import STEP_ID, read_object
from .folder import RunFolder
from .layout import ABOUT, PLAN, RESULT, name_of
from .lock import LOCK, is_locked
from .losses import lost_of
from .protocol import RunStore

__all__ = [
    "STATUSES",
    "ListedRun",
    "RunStatus",
    "Usual",
    "find_run",
    "find_usual",
    "list_runs",
    "open_listed",
    "open_run",
    "stored_runs",
    "usual_of",
]


def open_run(flow_run_id: str) -> RunStore:
    """Return the store of a flow run's run; nothing is made yet.

    Raises:
        RunNotFoundError: No run can have such a name.
    """
    return RunFolder.of(flow_run_id)


def find_run(name: str) -> RunStore:
    """Find a run by its id or its flow run's id.

    Raises:
        RunDamagedError: What is kept of it doesn't say which flow run it was, and the name
            doesn't; or it isn't safe to read.
        RunNotFoundError: There is none.
    """
    return RunFolder.find(name)


def stored_runs() -> tuple[RunStore, ...]:
    """Return the stores of all runs, in the order of their names.

    Raises:
        OSError: They can't be listed.
    """
    folder = _runs_folder()
    if not folder.is_dir():
        return ()
    return tuple(RunFolder(path) for path in sorted(folder.iterdir()) if path.is_dir())


def open_listed(run: ListedRun) -> RunStore:
    """Return the store of a run that was listed."""
    return RunFolder(_runs_folder() / run.run_id)


def _runs_folder() -> Path:
    """Return the folder that has a folder for each run."""
    return home() / "runs"


RunStatus = Literal["completed", "partial", "failed", "running", "waiting", "stopped", "damaged"]
"""`stopped`: it has not ended, and no process of this machine executes it. `waiting`: neither, and
a person hasn't answered yet what it asks."""
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

    @property
    def kind(self) -> str:
        """What runs like it have, too: the deployment, or the objective but for its figures."""
        return self.deployment or _FIGURES.sub("#", " ".join(self.objective.casefold().split()))


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What is known of a run before its result is looked at."""

    folder: Path
    started_at: float
    objective: str = ""
    flow_run_id: str = ""
    damage: str = ""
    deployment: str = ""

    def ended(self, status: RunStatus, damage: str = "", **figures: Any) -> ListedRun:
        return ListedRun(
            _written(self.folder.name),
            status,
            self.started_at,
            self.objective,
            self.flow_run_id,
            damage=damage,
            deployment=self.deployment,
            **figures,
        )


def list_runs(
    words: tuple[str, ...] = (),
    statuses: frozenset[RunStatus] = frozenset(),
    *,
    since: float = 0.0,
    folder: Path | None = None,
) -> Iterator[ListedRun]:
    """Go through the stored runs, newest first.

    Args:
        words: All of them have to be in the objective or the id, in any case.
        statuses: The run has one of these; any, if there are none.
        since: The run began at this time or later, in seconds since 1970.
        folder: Holds a folder for each run; the data folder's own if it is left out.
    """
    started = sorted(
        _beginnings(folder or _runs_folder()), key=lambda run: (-run.started_at, run.folder.name)
    )
    wanted = [word.casefold() for word in words]
    for run in started:
        text = f"{run.objective}\n{_written(run.folder.name)}\n{run.flow_run_id}".casefold()
        if run.started_at < since:
            break
        if not all(word in text for word in wanted) or not _may_have(run, statuses):
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


def usual_of(run: ListedRun, others: Iterable[ListedRun]) -> Usual | None:
    """Return what is usual for runs like one; None where fewer than two others have ended. Pure.

    Runs are alike that are of the same deployment, or without one have the same objective but for
    its figures: `Report of 27 November` is like `Report of 26 November`.
    """
    alike = (
        other
        for other in others
        if other.kind == run.kind and other.run_id != run.run_id and other.status in _ENDED
    )
    found = list(islice(alike, _MOST_ALIKE))
    if len(found) < _LEAST_ALIKE:
        return None
    return Usual(
        len(found),
        _median(each.makespan_s for each in found),
        _median(each.tokens for each in found),
        _median(each.usd for each in found),
    )


_ENDED = ("completed", "partial")
_MOST_ALIKE = 10


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def find_usual(runs: Collection[ListedRun], *, folder: Path | None = None) -> dict[str, Usual]:
    """Return what is usual for each of some runs, by its id; those without others are missing.

    Args:
        runs: Runs that were listed.
        folder: Holds a folder for each run; the data folder's own if it is left out.
    """
    wanted = {run.kind for run in runs}
    counts = Counter[str]()
    known = {run.run_id: run for run in runs}
    others: dict[str, list[ListedRun]] = {}
    started = sorted(_beginnings(folder or _runs_folder()), key=lambda run: -run.started_at)
    for begun in started:
        kind = begun.ended("stopped").kind
        # One more than count: a run isn't counted among those like itself.
        if begun.damage or kind not in wanted or counts[kind] > _MOST_ALIKE:
            continue
        other = known.get(_written(begun.folder.name)) or _listed(begun)
        others.setdefault(kind, []).append(other)
        counts[kind] += other.status in _ENDED
    found = ((run.run_id, usual_of(run, others.get(run.kind, ()))) for run in runs)
    return {name: usual for name, usual in found if usual is not None}


def _beginnings(folder: Path) -> Iterator[_Beginning]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if (run := _beginning(Path(entry.path))) is not None:
            yield run


def _beginning(folder: Path) -> _Beginning | None:
    """Read how a run began; None if the folder has no run, only a lock that was once held."""
    path = folder / ABOUT
    if _written(folder.name) != folder.name:
        return _Beginning(folder, _changed_at(folder), damage="the folder's name is not UTF-8")
    try:
        about = _read(folder, ABOUT, _About)
    except FileNotFoundError:
        if not any(name != LOCK for name in _names(folder)):
            return None
        damage = f"{path} is missing"
    except (OSError, ValueError) as error:
        damage = f"{path}: {damage_of(error)}"
    else:
        return _Beginning(
            folder,
            about.started_at,
            about.objective,
            about.flow_run_id,
            deployment=about.deployment,
        )
    return _Beginning(folder, _changed_at(folder), damage=damage)


def _may_have(run: _Beginning, statuses: frozenset[RunStatus]) -> bool:
    """Whether a run may have one of these statuses, by the first bytes of its result."""
    if not statuses or "damaged" in statuses or run.damage:
        return True
    try:
        with UntrustedFolder(run.folder).opened(RESULT) as file:
            found = _STATUS.search(file.read(_HEAD))
    except OSError:
        return True
    return found is None or found[1].decode() in statuses


def _listed(run: _Beginning) -> ListedRun:
    if run.damage:
        return run.ended("damaged", run.damage)
    path = run.folder / RESULT
    try:
        result = _read(run.folder, RESULT, _Result)
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
        return run.ended("damaged", f"{path}: {damage_of(error)}")


def _unfinished(run: _Beginning) -> ListedRun:
    """Return how far a run without a result is, by its plan and the outputs that are there."""
    steps = done = instances = None
    with suppress(OSError, ValueError):
        steps = len(_read(run.folder, PLAN, _Plan).steps)
        made = [name.removesuffix(".txt") for name in _names(run.folder, name_of("output"))]
        done = sum(STEP_ID.fullmatch(name) is not None for name in made)
        parents = {name: parent_of(name) for name in made if is_step_id(name)}
        with_members = {*parents.values()}
        instances = sum(name not in with_members for name, parent in parents.items() if parent)
    if is_locked(FolderReader(run.folder)):
        # The lock is written when it is taken.
        running_s = max(0.0, time.time() - _changed_at(run.folder / LOCK))
        return run.ended(
            "running", steps=steps, done=done, instances_done=instances, running_s=running_s
        )
    try:
        asks = _asks(run.folder)
    except OSError as error:
        return run.ended("damaged", f"{run.folder}: {damage_of(error)}")
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


def _read(folder: Path, name: str, model: type[_M]) -> _M:
    """Read a file of a run.

    Raises:
        OSError: The file can't be read.
        ValueError: It is not JSON, not UTF-8, or something else.
    """
    data = UntrustedFolder(folder).read(name, MOST_TEXT_BYTES)
    return model.model_validate(read_object(data))


def _asks(folder: Path) -> bool:
    """Whether a run has a question without an answer."""
    files = UntrustedFolder(folder)
    asked, answered = files.names(name_of("question")), set(files.names(name_of("answer")))
    return any(name not in answered for name in asked if not name.startswith("."))


def _names(folder: Path, inner: str = "") -> list[str]:
    with suppress(OSError):
        return UntrustedFolder(folder).names(inner)
    return []


def _written(name: str) -> str:
    """Return a name as it can be written: those of files may have bytes that are no characters."""
    return os.fsencode(name).decode(errors="replace")


def _changed_at(path: Path) -> float:
    with suppress(OSError):
        return moment_of(path.lstat().st_mtime) or 0.0
    return 0.0
