"""Forgetting: episodes and all that was derived from them are removed for good."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from ..data_types import Frozen
from ..errors import ForgettingUnfinishedError, MemoryStoreError
from ..files import make_folder, write_atomically
from ..untrusted.folder import read_file
from .erasure import (
    RemovedTraces,
    ResolvedSelection,
    Traces,
    check_everywhere,
    find_traces,
    make_selection,
    remove_traces,
    resolve_selection,
)
from .store import open_configured_store

if TYPE_CHECKING:
    from datetime import datetime

    from .personas.store import PersonaStore
    from .store import Place, Store

__all__ = [
    "FINISH",
    "NAME",
    "ForgettingMark",
    "Forgotten",
    "Unfinished",
    "clear_mark",
    "find_unfinished",
    "finish_forgetting",
    "forget",
    "forget_selection",
    "read_mark",
    "void_files",
    "write_mark",
]


NAME = "forgetting.json"


class ForgettingMark(Frozen):
    """What is known of a forgetting that isn't finished; nothing of what is forgotten.

    Attributes:
        stage: `rows`: not all rows are known to be removed; `bytes`: they are, and only their
            bytes may be left.
        files: That are known to have such bytes.
    """

    begun_at: float
    stage: Literal["rows", "bytes"] = "rows"
    files: tuple[str, ...] = ()


def read_mark(folder: Path) -> ForgettingMark | None:
    """Return the mark in a memory's folder; None if no forgetting is unfinished."""
    try:
        return ForgettingMark.model_validate_json(read_file(folder / NAME))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        return ForgettingMark(begun_at=0.0)  # It is there, and says nothing better.


def write_mark(folder: Path, mark: ForgettingMark | None = None) -> None:
    """Write that a forgetting is under way.

    Raises:
        MemoryStoreError: It can't be written.
    """
    mark = mark or ForgettingMark(begun_at=time.time())
    try:
        make_folder(folder)
        write_atomically(folder / NAME, mark.model_dump_json())
    except OSError as error:
        raise MemoryStoreError(
            f"{folder / NAME} can't be written: {error}.", "Nothing was removed. Check the disk."
        ) from error


def clear_mark(folder: Path) -> None:
    """Say that no forgetting is unfinished."""
    (folder / NAME).unlink(missing_ok=True)


FINISH = "When no other process reads the memory any more, finish it: prefect-swarm memory vacuum"
_AGAIN = "Make the same call again: prefect-swarm memory forget …"
_DATABASES = ("episodes.sqlite", "personas.sqlite")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A forgetting that isn't finished.

    Attributes:
        files: Files and folders that may still have what was forgotten.
        killed: Whether it was ended before all rows were known to be removed.
    """

    files: tuple[str, ...]
    killed: bool = False

    @property
    def problem(self) -> str:
        """What is left, in a sentence."""
        what = "A forgetting was ended in its middle" if self.killed else "A forgetting isn't over"
        return f"{what}: what was forgotten may still be in {', '.join(self.files)}."

    @property
    def advice(self) -> str:
        """What finishes it."""
        return _AGAIN if self.killed else FINISH


def find_unfinished(store: Store) -> Unfinished | None:
    """Say what an earlier forgetting has left; None if nothing.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    mark = read_mark(store.place.folder)
    forgotten = store.log.forgotten()
    files = void_files(store.place.folder, forgotten, doubtful=mark is not None)
    if mark is None:
        return Unfinished(tuple(files)) if files else None
    known = mark.files or _databases(store.place)
    named = [name for name in known if Path(name).exists()]
    return Unfinished(tuple(dict.fromkeys([*named, *files])), killed=mark.stage == "rows")


def void_files(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[str]:
    """Return what was derived from the log before the last forgetting, and is still on the disk.

    Args:
        folder: The memory's folder.
        forgotten: The log's number.
        doubtful: What doesn't say what it was derived from, too.
    """
    from .index.generation_store import void_generations
    from .learning.beliefs import void_beliefs

    generations = void_generations(folder, forgotten, doubtful=doubtful)
    beliefs = void_beliefs(folder, forgotten, doubtful=doubtful)
    return [str(path) for path in (*generations, *beliefs)]


def _databases(place: Place) -> list[str]:
    names = _DATABASES[1:] if place.dsn else _DATABASES
    return [str(place.folder / f"{name}{end}") for name in names for end in ("", "-wal")]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        episodes: How many.
        personas: The invented personas that went with them.
        decisions: How many decisions about personas went or changed.
        generation: The index that was built without them; None if there was no index.
        elsewhere: What was removed outside the memory; None if only the memory was meant.
    """

    episodes: int = 0
    personas: tuple[str, ...] = ()
    decisions: int = 0
    generation: int | None = None
    elsewhere: RemovedTraces | None = None


def forget(
    *,
    run: str | None = None,
    step: str | None = None,
    persona: str | None = None,
    before: datetime | None = None,
    containing: str | None = None,
    everything: bool = False,
    everywhere: bool = False,
    namespace: str = "default",
    embedder: str = "wordllama",
) -> Forgotten:
    """Remove episodes for good, from the memory that the settings name, without confirmation.

    At least one condition is needed, and all have to hold. With the episodes go their vectors, the
    generations of the index that have them, and what was learned of them. Decisions about personas
    lose their keys; see `prefect-swarm docs forget`. It blocks until the index is built again.

    Args:
        run: All of this run: its flow run's id, or the short id that commands print.
        step: Of this step.
        persona: By this persona. If it is invented and this is the only condition, it is removed
            too.
        before: Ended before this time; without a time zone it is this machine's local time.
        containing: Prompt, objective, error or excerpt has this text, in any case. So do reasons of
            decisions, which lose it, and prompts of invented personas, which go if this is the only
            condition.
        everything: All of the namespace; no other condition may be given.
        everywhere: Outside the memory too: the run folders that are meant, each as a whole, with
            Prefect's local results of these runs or with the text; all cached gate results. Not
            with `step` or `persona`.
        namespace: Whose memory.
        embedder: What makes vectors where the index is built again: `wordllama`, `llamacpp:PATH` or
            `PROVIDER:MODEL`.

    Raises:
        InputError: No condition, an empty one, one together with `everything`, a short id that
            several runs have, or an unknown embedder.
        MemoryStoreError: The memory can't be read or written; the same call made again goes on.
    """
    which = make_selection(run, step, persona, before, containing, everything=everything)
    if everywhere:
        check_everywhere(which)
    with open_configured_store(embedder) as store:
        meant = resolve_selection(store, namespace, which)
        traces = find_traces(namespace, meant.which) if everywhere else None
        return forget_selection(store, meant, traces)


def forget_selection(
    store: Store, meant: ResolvedSelection, traces: Traces | None = None
) -> Forgotten:
    """Remove a resolved selection and all that was derived from it; a killed call can be repeated.

    Args:
        store: The memory.
        meant: What of it.
        traces: What is removed besides, outside the memory.

    Raises:
        ForgettingUnfinishedError: All of it is removed, but other processes keep bytes of it in
            the files that the error names. `finish_forgetting` removes those later.
        MemoryStoreError: The memory can't be written.
    """
    # First: what the memory raises at its end must not keep this from being done.
    elsewhere = None if traces is None else remove_traces(traces)
    remaining: set[str] = set()
    if not meant:
        # An earlier call may have been killed halfway.
        _rewrite(store, remaining)
        _finish(store, remaining)
        return Forgotten(elsewhere=elsewhere)
    write_mark(store.place.folder)
    # The log goes last: killed before that, the same call finds all of it again.
    decisions = _forget_decisions(store.personas, meant, remaining)
    count = len(meant.entries)
    with _noting(remaining):
        count = len(store.log.forget(meant.namespace, meant.which))
    return Forgotten(count, meant.personas, decisions, _finish(store, remaining), elsewhere)


def finish_forgetting(store: Store) -> None:
    """Remove what an earlier forgetting has left; the index that has it goes, and is built later.

    Raises:
        ForgettingUnfinishedError: Other processes still keep bytes of it, in the files that the
            error names; or the earlier call was killed before all rows were removed.
        MemoryStoreError: The memory can't be written.
    """
    mark = read_mark(store.place.folder)
    remaining: set[str] = set()
    _rewrite(store, remaining)
    _remove_derived(store)
    if mark is None or mark.stage == "bytes":
        _settle(store, remaining)
    elif (unfinished := find_unfinished(store)) is not None:
        raise ForgettingUnfinishedError(unfinished.problem, unfinished.advice, unfinished.files)


def _forget_decisions(store: PersonaStore, meant: ResolvedSelection, remaining: set[str]) -> int:
    """Remove the personas, and from what was decided of others the keys and the text."""
    changed = 0
    names = (None,) if meant.which.everything else meant.personas
    for name in names:
        with _noting(remaining):
            changed += store.forget(meant.namespace, name)
    if not meant.which.everything:
        keys = {entry.episode.key for entry in meant.entries}
        with _noting(remaining):
            changed += store.scrub(meant.namespace, keys, meant.which.containing)
    return changed


@contextmanager
def _noting(remaining: set[str]) -> Generator[None]:
    """Go on where a reader keeps bytes, and note in which files: the rest is removed all the same.

    What is inside has done its work when it raises that.
    """
    try:
        yield
    except ForgettingUnfinishedError as error:
        remaining.update(error.files)


def _rewrite(store: Store, remaining: set[str]) -> None:
    with _noting(remaining):
        store.log.vacuum()
    if store.has_personas:
        with _noting(remaining):
            store.personas.vacuum()


def _remove_derived(store: Store) -> None:
    from .index.generation_store import remove_void
    from .learning.beliefs import clear_beliefs

    clear_beliefs(store.place.folder)
    remove_void(store.place.folder, store.log.forgotten())


def _finish(store: Store, remaining: set[str]) -> int | None:
    """Rebuild the index if there is one, and return its number."""
    from .index.generation import read_pointer
    from .learning.beliefs import clear_beliefs
    from .store import build_index

    if read_pointer(store.place.folder) is None:
        _remove_derived(store)
        _settle(store, remaining)
        return None
    clear_beliefs(store.place.folder)
    try:
        generation = build_index(store).generation
    except MemoryStoreError as error:
        _remove_derived(store)
        _settle(store, remaining)
        raise MemoryStoreError(
            f"It is forgotten, but the index can't be built without it: {error.problem}",
            "Until then the log is searched. Build it: prefect-swarm memory rebuild",
        ) from error
    _settle(store, remaining)
    return generation


def _settle(store: Store, remaining: set[str]) -> None:
    """Take the mark away if nothing is left; else write down what is, and raise it."""
    folder = store.place.folder
    files = tuple(sorted({*remaining, *void_files(folder, store.log.forgotten())}))
    if not files:
        clear_mark(folder)
        return
    write_mark(folder, ForgettingMark(begun_at=time.time(), stage="bytes", files=files))
    raise ForgettingUnfinishedError(
        "What was forgotten is found no more, but bytes of it are still on the disk, since another "
        f"process has the memory open: in {', '.join(files)}.",
        FINISH,
        files,
    )
