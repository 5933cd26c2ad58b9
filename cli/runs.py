"""`prefect-swarm runs`: the list of runs from their folders, without a Prefect server."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import typer
from pydantic import BaseModel, ConfigDict

from ..data_types import Count, Finite, Moment, moment_of
from ..errors import InputError
from ..files import process_lives
from ..settings import home
from ..text import dollars, duration, one_line, plural
from ..untrusted.folder import MOST_TEXT_BYTES, UntrustedFolder, damage_of
from ..untrusted.json_text import read_object
from .command import AsJson
from .terminal.printing import print_json, print_table, print_text

__all__ = ["STATUSES", "ListedRun", "RunStatus", "is_executed", "list_runs", "runs"]


RunStatus = Literal["completed", "partial", "failed", "running", "waiting", "stopped", "damaged"]
"""`stopped`: it has not ended, and no process of this machine executes it. `waiting`: neither, and
a person hasn't answered yet what it asks."""
STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)

# Results are written with their status near the beginning; the rest may be megabytes.
_STATUS = re.compile(rb'^  "status": "([a-z]+)",?$', re.MULTILINE)
_HEAD = 1024
_PID_BYTES = 32


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A stored run.

    Attributes:
        started_at: Seconds since 1970; the folder's own time where the run's can't be read.
        steps: How many its plan has; None if it had none yet.
        done: How many of them have their output.
        makespan_s, tokens, usd: What it took; None if it hasn't ended or is not known.
        running_s: Seconds since the process that executes it began to; None if none does.
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
    running_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What is known of a run before its result is looked at."""

    folder: Path
    started_at: float
    objective: str = ""
    flow_run_id: str = ""
    damage: str = ""

    def ended(self, status: RunStatus, damage: str = "", **figures: Any) -> ListedRun:
        return ListedRun(
            _written(self.folder.name),
            status,
            self.started_at,
            self.objective,
            self.flow_run_id,
            damage=damage,
            **figures,
        )


def list_runs(
    folder: Path, words: tuple[str, ...] = (), statuses: frozenset[RunStatus] = frozenset()
) -> Iterator[ListedRun]:
    """Go through the runs in a folder, newest first.

    Args:
        folder: Holds a folder for each run.
        words: All of them have to be in the objective or the id, in any case.
        statuses: The run has one of these; any, if there are none.
    """
    begun = sorted(_beginnings(folder), key=lambda run: (-run.started_at, run.folder.name))
    wanted = [word.casefold() for word in words]
    for run in begun:
        text = f"{run.objective}\n{_written(run.folder.name)}\n{run.flow_run_id}".casefold()
        if not all(word in text for word in wanted) or not _may_have(run, statuses):
            continue
        listed = _listed(run)
        if not statuses or listed.status in statuses:
            yield listed


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
    path = folder / "run.json"
    if _written(folder.name) != folder.name:
        return _Beginning(folder, _changed_at(folder), damage="the folder's name is not UTF-8")
    try:
        about = _read(folder, "run.json", _About)
    except FileNotFoundError:
        if not any(name != "lock" for name in _names(folder)):
            return None
        damage = f"{path} is missing"
    except (OSError, ValueError) as error:
        damage = f"{path}: {damage_of(error)}"
    else:
        return _Beginning(folder, about.started_at, about.objective, about.flow_run_id)
    return _Beginning(folder, _changed_at(folder), damage=damage)


def _may_have(run: _Beginning, statuses: frozenset[RunStatus]) -> bool:
    """Whether a run may have one of these statuses, by the first bytes of its result."""
    if not statuses or "damaged" in statuses or run.damage:
        return True
    try:
        with UntrustedFolder(run.folder).opened("result.json") as file:
            found = _STATUS.search(file.read(_HEAD))
    except OSError:
        return True
    return found is None or found[1].decode() in statuses


def _listed(run: _Beginning) -> ListedRun:
    if run.damage:
        return run.ended("damaged", run.damage)
    path = run.folder / "result.json"
    try:
        result = _read(run.folder, "result.json", _Result)
        return run.ended(
            result.status,
            steps=len(result.steps),
            done=sum(step.status == "succeeded" for step in result.steps),
            makespan_s=result.metrics.makespan_s,
            tokens=result.cost.tokens,
            usd=result.cost.money_usd,
        )
    except FileNotFoundError:
        return _unfinished(run)
    except (OSError, ValueError) as error:
        return run.ended("damaged", f"{path}: {damage_of(error)}")


def _unfinished(run: _Beginning) -> ListedRun:
    """Return how far a run without a result is, by its plan and the outputs that are there."""
    steps = done = None
    with suppress(OSError, ValueError):
        steps = len(_read(run.folder, "plan.json", _Plan).steps)
        done = sum(name.endswith(".txt") for name in _names(run.folder, "outputs"))
    if is_executed(run.folder):
        # The lock is written when it is taken.
        running_s = max(0.0, time.time() - _changed_at(run.folder / "lock"))
        return run.ended("running", steps=steps, done=done, running_s=running_s)
    try:
        asks = _asks(run.folder)
    except OSError as error:
        return run.ended("damaged", f"{run.folder}: {damage_of(error)}")
    return run.ended("waiting" if asks else "stopped", steps=steps, done=done)


class _Read(BaseModel):
    """What of a file is needed; nothing is taken for another type than it has."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _About(_Read):
    started_at: Moment
    objective: str
    flow_run_id: str


class _Step(_Read):
    status: str


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


def is_executed(folder: Path) -> bool:
    """Whether a process of this machine executes the run, by the lock that dies with it."""
    try:
        number = int(UntrustedFolder(folder).read("lock", _PID_BYTES).decode("ascii"))
    except (OSError, ValueError):
        return False
    if not process_lives(number):
        return False
    # The number may be another process's by now. Only such runs are tried, since for the moment
    # that the lock is held here nothing could begin them.
    with suppress(OSError), UntrustedFolder(folder).opened("lock") as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    return True


def _asks(folder: Path) -> bool:
    """Whether a run has a question without an answer."""
    files = UntrustedFolder(folder)
    asked, answered = files.names("questions"), set(files.names("answers"))
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


_HEADER = ("Run", "Started", "Status", "Done", "Time", "Tokens", "Cost", "Objective")
_RIGHT = frozenset({"Done", "Time", "Tokens", "Cost"})


def runs(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORD", help="Only those whose objective has all of these."),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help=f"Only these: {', '.join(STATUSES)}. Repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Runs at most.")] = 20,
    as_json: AsJson = False,
) -> int:
    """List the stored runs, newest first, with start, status, cost and time."""
    wanted = frozenset[RunStatus](_status(text) for text in status or ())
    found = list(islice(list_runs(home() / "runs", tuple(words or ()), wanted), limit + 1))
    shown, more = found[:limit], len(found) > limit
    if as_json:
        print_json({"runs": [_record(run) for run in shown], "more": more})
    elif shown:
        print_table(_HEADER, map(_row, shown), right=_RIGHT)
        _print_hints(shown, more=more)
    else:
        print_text("No run matches." if words or wanted else f"No run is stored in {home()}.")
    return 0


def _status(text: str) -> RunStatus:
    for known in STATUSES:
        if known == text:
            return known
    raise InputError(f"--status got {text!r}.", f"Give one of {', '.join(STATUSES)}.")


def _record(run: ListedRun) -> dict[str, Any]:
    when = datetime.fromtimestamp(run.started_at).astimezone()
    return {**asdict(run), "started_at": when.isoformat(timespec="seconds")}


def _row(run: ListedRun) -> tuple[str, ...]:
    took = run.running_s if run.makespan_s is None else run.makespan_s
    return (
        one_line(run.run_id, 40),
        f"{datetime.fromtimestamp(run.started_at):%Y-%m-%d %H:%M}",
        run.status,
        "" if run.steps is None else f"{run.done or 0:,}/{run.steps:,}",
        "" if took is None else duration(took),
        "" if run.tokens is None else f"{run.tokens:,}",
        "" if run.usd is None else dollars(run.usd),
        one_line(run.damage or run.objective, 300),
    )


def _print_hints(shown: list[ListedRun], *, more: bool) -> None:
    print_text("")
    if more:
        print_text(f"{plural(len(shown), 'run')}, and there are older ones: see --limit.")
    if stopped := next((run.run_id for run in shown if run.status == "stopped"), None):
        print_text(f"To go on with one that stopped: prefect-swarm resume {stopped}")
    if running := next((run.run_id for run in shown if run.status == "running"), None):
        print_text(f"To watch one that runs: prefect-swarm watch {running}")
    if asking := next((run.run_id for run in shown if run.status == "waiting"), None):
        print_text(f"To see what one waits for: prefect-swarm waiting {asking}")
    if whole := next((run.run_id for run in shown if run.status != "damaged"), None):
        print_text(f"Look closer: prefect-swarm inspect {whole}")
