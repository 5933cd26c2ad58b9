"""Erasure outside the memory: finding and removing what is to be forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, MemoryStoreError
from ..settings import home
from ..store.protocol import RunStore, run_id_of
from ..store.runs import stored_runs
from ..untrusted.folder import MOST_BYTES, read_file
from ..workspace.repository import Repository, folder_of
from .episode import LogEntry, Selection

if TYPE_CHECKING:
    from datetime import datetime

    from .personas.store import PersonaStore
    from .protocols import EpisodeLog
    from .store import Store

__all__ = [
    "RemovedTraces",
    "ResolvedSelection",
    "Traces",
    "check_everywhere",
    "find_run_id",
    "find_run_ids",
    "find_traces",
    "has_any",
    "make_selection",
    "plain",
    "remove_traces",
    "resolve_selection",
    "result_storage",
    "run_of_result",
    "short_run",
]


# JSON in JSON has its escapes escaped again, so any number of backslashes is taken together.
_ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|([nrtbf])|(?=([\"/]))|)")
_MEANS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def plain(text: str) -> str:
    """Return a text without JSON's escapes, however deep, in one case; to be compared with such."""
    found = _ESCAPE.sub(_meant, text) if "\\" in text else text
    # Characters beyond the first 65,536 are two escapes.
    whole = found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.casefold()


def has_any(path: Path, wanted: Sequence[str]) -> bool:
    """Whether a file has one of these texts, in any case.

    Raises:
        OSError: It can't be read.
    """
    return _mentions(read_file(path, MOST_BYTES).decode("utf-8", "replace"), wanted)


def _mentions(text: str, wanted: Sequence[str]) -> bool:
    shown, raw = plain(text), text.casefold()
    return any(plain(look) in shown or look.casefold() in raw for look in wanted)


def _meant(escape: re.Match[str]) -> str:
    code, letter, quoted = escape.groups()
    if code is not None:
        return chr(int(code, 16))
    if letter is not None:
        return _MEANS[letter]
    return "\\" if quoted is None else ""


# A stored result that a run names itself: the flow run's id, and what it is of.
_KEYED = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.")
_OURS = ("prefect_swarm",)


@dataclass(frozen=True, slots=True)
class Traces:
    """What is to be removed.

    Attributes:
        runs: Runs; each goes whole, since a run without some of its texts is damaged.
        results: Files in Prefect's local result storage.
        gates: Files of cached gate results: all there are, as they don't say whose they are.
        prefixes: Stored beginnings of prompts: all, for the same reason.
    """

    runs: tuple[RunStore, ...] = ()
    results: tuple[Path, ...] = ()
    gates: tuple[Path, ...] = ()
    prefixes: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.runs or self.results or self.gates or self.prefixes)


def check_everywhere(which: Selection, mark: str = "") -> None:
    """Refuse conditions that choose parts of a run: runs are removed whole.

    Raises:
        InputError: There is such a condition; `mark` stands before its name.
    """
    if which.step is not None or which.persona is not None:
        wrong = "step" if which.step is not None else "persona"
        raise InputError(
            f"{mark}everywhere was given with {mark}{wrong}, and runs are removed whole.",
            f"Give {mark}run, {mark}before, {mark}containing or {mark}everything with it.",
        )


def find_traces(namespace: str, which: Selection) -> Traces:
    """Find the traces of the runs that a selection means; nothing is changed.

    A run is meant if all conditions hold for it: its id, when it was started, and that a file of it
    has the text. Stored results are those of these runs, and those that have the text.

    Raises:
        OSError: A folder can't be read.
    """
    runs = tuple(run for run in stored_runs() if _is_meant(run, namespace, which))
    wanted = {name for run in runs for name in _names_of(run)}
    if which.run is not None:
        wanted |= {which.run, run_id_of(which.run)}
    if which.containing is not None and which == Selection(containing=which.containing):
        wanted.add(which.containing)
    stored = _files(result_storage()) if wanted else ()
    results = tuple(path for path in stored if _is_result_of(path, sorted(wanted)))
    if not (runs or results):
        return Traces()
    gates, prefixes = (tuple(_files(home() / name)) for name in ("gates", "prefixes"))
    return Traces(runs, results, gates, prefixes)


def _is_meant(run: RunStore, namespace: str, which: Selection) -> bool:
    about = run.about()
    own = (about.options or {}).get("namespace")
    # A damaged run doesn't say whose it is; what is asked for by name or text goes all the same.
    if own != namespace and not (own is None and (which.run or which.containing)):
        return False
    if which.run is not None and run_id_of(which.run) != run.run_id:
        return False
    started = about.started_at
    if which.before is not None and (started is None or started >= which.before):
        return False
    if which.containing is None:
        return True
    return any(_mentions(text, [which.containing]) for text in run.texts())


def run_of_result(path: Path) -> str:
    """Return the short id of the run that a stored result's name begins with; "" if none does."""
    keyed = _KEYED.match(path.name)
    return run_id_of(keyed[0]) if keyed else ""


def _is_result_of(path: Path, wanted: list[str]) -> bool:
    run = run_of_result(path)
    if run in wanted:
        return True
    with suppress(FileNotFoundError):
        # Other flows keep their results here too.
        return (bool(run) or has_any(path, _OURS)) and has_any(path, wanted)
    return False


def _names_of(run: RunStore) -> list[str]:
    """Return the names that other files know a run by: its id, and its flow run's."""
    flow_run = run.about().flow_run_id
    return [run.run_id, flow_run] if flow_run else [run.run_id]


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        found = folder.rglob("*")
        yield from sorted(path for path in found if not path.is_symlink() and path.is_file())


def result_storage() -> Path:
    """Prefect's folder for results on this machine; those that a block stores are elsewhere."""
    from prefect.settings import get_current_settings

    return get_current_settings().results.local_storage_path.expanduser()


@dataclass(frozen=True, slots=True)
class RemovedTraces:
    """What was removed outside the memory.

    Attributes:
        runs: How many run folders.
        results: How many files of Prefect's local result storage.
        gates: How many cached gate results.
        prefixes: How many stored beginnings of prompts.
        executed: Runs that a process executes, and that therefore stay.
    """

    runs: int = 0
    results: int = 0
    gates: int = 0
    prefixes: int = 0
    executed: tuple[str, ...] = ()


def remove_traces(traces: Traces) -> RemovedTraces:
    """Remove them for good; a call that was killed can be made again.

    Raises:
        MemoryStoreError: One can't be removed; says which.
    """
    try:
        executed = [run.run_id for run in traces.runs if not _erase(run)]
        results = [path for path in traces.results if run_of_result(path) not in executed]
        for path in (*results, *traces.gates, *traces.prefixes):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise MemoryStoreError(
            f"{error.filename} can't be removed: {error.strerror}.",
            "Check its permissions, then make the same call again.",
        ) from error
    runs = len(traces.runs) - len(executed)
    return RemovedTraces(
        runs, len(results), len(traces.gates), len(traces.prefixes), tuple(executed)
    )


def _erase(run: RunStore) -> bool:
    """Remove a run with its copy of a workspace; False if a process executes it."""
    if not run.erase():
        return False
    Repository(folder_of(run.run_id)).remove()
    return True


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def find_run_ids(log: EpisodeLog, namespace: str, name: str) -> list[str]:
    """Return the flow run ids that a name may mean: an id, or the short id that commands print."""
    if log.select(namespace, Selection(run=name)):
        return [name]
    asked = name.replace("-", "").lower()
    return [run for run in _runs(log, namespace) if asked in (short_run(run), run.replace("-", ""))]


def find_run_id(log: EpisodeLog, namespace: str, name: str) -> str:
    """Return the flow run id that a name means.

    Raises:
        InputError: No run has that name, or several have that short id.
    """
    found = find_run_ids(log, namespace, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"Several runs are called {name!r}.", f"Say which: {', '.join(found)}.")
    last = ", ".join([short_run(run) for run in _runs(log, namespace)][-5:])
    raise InputError(
        f"The memory of namespace {namespace!r} has nothing of a run {name!r}.",
        f"The last runs are {last}." if last else "It is empty.",
    )


def short_run(run: str) -> str:
    """Return a run's name as commands print it."""

    return run_id_of(run) if _UUID.fullmatch(run) else run


def _runs(log: EpisodeLog, namespace: str) -> dict[str, None]:
    from .log.rows import read_batches

    return dict.fromkeys(
        entry.episode.run
        for entries in read_batches(log)
        for entry in entries
        if entry.episode.namespace == namespace
    )


@dataclass(frozen=True, slots=True)
class ResolvedSelection:
    """What a selection matches in a memory as it is now.

    Attributes:
        namespace, which: The namespace, and the selection with the run's full id.
        entries: The episodes.
        personas: The invented personas that go with them.
    """

    namespace: str
    which: Selection
    entries: tuple[LogEntry, ...]
    personas: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.entries or self.personas)


def make_selection(
    run: str | None,
    step: str | None,
    persona: str | None,
    before: datetime | None,
    containing: str | None,
    *,
    everything: bool,
    mark: str = "",
) -> Selection:
    """Return a selection of these conditions; `mark` stands before their names in errors.

    Raises:
        InputError: No condition, an empty one, or one together with `everything`.
    """
    from .log.rows import check_forgettable

    criteria = {"run": run, "step": step, "persona": persona, "containing": containing}
    for name, value in criteria.items():
        if value is not None and not value.strip():
            raise InputError(f"{mark}{name} is empty.", "Say which, or leave it out.")
    if everything and (before is not None or any(criteria.values())):
        raise InputError(
            f"{mark}everything was given with a condition.",
            "Nothing was removed. Give either a condition or everything.",
        )
    time = None if before is None else _to_timestamp(before, mark)
    which = Selection.model_validate({**criteria, "before": time, "everything": everything})
    check_forgettable(which)
    return which


def resolve_selection(store: Store, namespace: str, which: Selection) -> ResolvedSelection:
    """Return what a selection would forget; nothing is changed.

    Raises:
        InputError: Several runs have that short name.
        MemoryStoreError: The memory can't be read.
    """
    if which.run is not None and find_run_ids(store.log, namespace, which.run):
        which = which.model_copy(update={"run": find_run_id(store.log, namespace, which.run)})
    entries = store.log.select(namespace, which)
    return ResolvedSelection(
        namespace, which, tuple(entries), _invented_personas(store.personas, namespace, which)
    )


def _to_timestamp(time: datetime, mark: str) -> float:
    try:
        return time.timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{mark}before is out of range: {time}.", "Give a later time.") from None


def _invented_personas(store: PersonaStore, namespace: str, which: Selection) -> tuple[str, ...]:
    """Name the invented personas that go with the episodes, their prompts and evidence too.

    All of them if everything is forgotten, the named one, and those whose prompt contains the
    forgotten text. With a second condition none, since that selects episodes only.
    """
    from .log.rows import mentions

    known = store.registry(namespace).known
    invented = [entry.persona for entry in known.values() if entry.origin == "invented"]
    if which == Selection(everything=True):
        return tuple(persona.name for persona in invented)
    if which.persona is not None and which == Selection(persona=which.persona):
        return tuple(persona.name for persona in invented if persona.name == which.persona)
    if which.containing is not None and which == Selection(containing=which.containing):
        return tuple(
            persona.name
            for persona in invented
            if mentions(which.containing, (persona.name, persona.title, persona.instructions))
        )
    return ()
