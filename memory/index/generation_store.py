"""The folder of the generations: building the next one, publishing it, and removing old ones."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from ...errors import MemoryStoreError
from ...files import close_to_others, make_folder, owner_only
from ...text import count_in
from ...untrusted.folder import read_file
from ...untrusted.opening import open_plain, opened_folder
from ..embedding import group_by_namespace, prompt_vectors
from ..episode import LogEntry
from ..graph import KuzuGraph
from ..log.rows import read_batches
from ..protocols import Embedder, EpisodeLog
from .faiss import FaissIndex
from .generation import (
    GRAPH,
    Damage,
    Generation,
    Manifest,
    Pointer,
    end_of,
    open_current,
    read_pointer,
    seal_of,
    void_reason,
    write_manifest,
)

__all__ = [
    "Consolidation",
    "clean",
    "consolidate",
    "consolidation_lock",
    "new_folder",
    "next_number",
    "publish",
    "remove_void",
    "sweep",
    "void_generations",
]


RETAINED = 2
"""Generations that are kept: a process may have read the pointer but not opened it yet."""


@contextmanager
def consolidation_lock(folder: Path) -> Generator[bool]:
    """Hold the consolidator's lock, which dies with the process; False if another holds it.

    Raises:
        MemoryStoreError: The folder can't be written.
    """
    try:
        make_folder(folder)
        file = open(  # noqa: SIM115 - closed below
            folder / "consolidate.lock", "a", encoding="ascii", opener=owner_only
        )
    except OSError as error:
        raise _unwritable(folder, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def new_folder(folder: Path) -> Path:
    """Make an empty folder for a new generation.

    Raises:
        MemoryStoreError: It can't be made.
    """
    try:
        make_folder(folder / "generations")
        return Path(tempfile.mkdtemp(dir=folder / "generations", prefix=".new-"))
    except OSError as error:
        raise _unwritable(folder, error) from error


def next_number(folder: Path) -> int:
    """The number after the highest here."""
    return max((number for number, _ in _generations(folder)), default=0) + 1


def publish(folder: Path, made: Path, manifest: Manifest) -> Pointer:
    """Seal the files in `made`, move it into place, and point to it; readers see all or nothing.

    `manifest.files` is filled in here.

    Raises:
        MemoryStoreError: It can't be written; the previous generation stays.
    """
    try:
        files = sorted(path for path in made.rglob("*") if path.is_file())
        seals = {str(path.relative_to(made)): seal_of(path) for path in files}
        pointer = write_manifest(made, manifest.model_copy(update={"files": seals}))
        for path in [*made.rglob("*"), made]:
            # FAISS and Kuzu leave the mode to the umask.
            close_to_others(path)
            _sync(path)
        target = folder / "generations" / str(manifest.number)
        made.rename(target)
        _sync(target.parent)
        _point(folder, pointer)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return pointer


def clean(folder: Path) -> None:
    """Remove the remains of a killed consolidator. The caller holds the lock."""
    for path in (folder / "generations").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob(".current-*"):
        path.unlink(missing_ok=True)


def sweep(folder: Path, current: int, forgotten: int) -> None:
    """Remove old generations that no process reads.

    Args:
        folder: The memory's folder.
        current: The number of the current generation.
        forgotten: The log's number. Generations of another number hold what was forgotten, and are
            removed even if they are read: readers check the log's number before each use.
    """
    for number, path in sorted(_generations(folder), reverse=True):
        recent = current - RETAINED < number
        retained = _forgotten_of(path) == forgotten and (recent or _is_read(path))
        if number == current or retained:
            continue
        # Renamed first, so that no process opens a half-removed generation.
        hidden = path.with_name(f".gone-{number}")
        try:
            path.rename(hidden)
        except OSError:
            continue
        shutil.rmtree(hidden, ignore_errors=True)


def remove_void(folder: Path, forgotten: int) -> None:
    """Remove the generations that have what was forgotten, unless another process builds them.

    Args:
        folder: The memory's folder.
        forgotten: The log's number; generations of another hold what was forgotten.

    Raises:
        MemoryStoreError: The folder can't be written.
    """
    with consolidation_lock(folder) as ours:
        if not ours:
            return
        clean(folder)
        current = read_pointer(folder)
        number = current.number if isinstance(current, Pointer) else 0
        if void := void_generations(folder, forgotten):
            if folder / "generations" / str(number) in void or not number:
                # Before what it points to goes: no process finds a pointer that leads nowhere.
                (folder / "current").unlink(missing_ok=True)
                number = 0
            sweep(folder, number, forgotten)


def void_generations(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[Path]:
    """Return the generations that have what was forgotten.

    Args:
        folder: The memory's folder.
        forgotten: The log's number; generations of another have what was forgotten.
        doubtful: Those too that don't say any more what they have, being damaged or half-removed.
    """
    numbers = {path: _forgotten_of(path) for _, path in _generations(folder)}
    found = [path for path, number in numbers.items() if number not in (forgotten, None)]
    if doubtful:
        found += [path for path, number in numbers.items() if number is None]
        found += (folder / "generations").glob(".gone-*")
    return sorted(found)


def _point(folder: Path, pointer: Pointer) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".current-")
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(str(pointer))
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(folder / "current")
    _sync(folder)


def _generations(folder: Path) -> list[tuple[int, Path]]:
    paths = (folder / "generations").glob("[0-9]*")
    return [(number, path) for path in paths if (number := count_in(path.name)) is not None]


def _forgotten_of(path: Path) -> int | None:
    try:
        return Manifest.model_validate_json(read_file(path / "manifest.json")).forgotten
    except (OSError, ValidationError):
        return None


def _is_read(path: Path) -> bool:
    try:
        with opened_folder(path) as at:
            descriptor = open_plain(at, "manifest.json", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(folder: Path, error: OSError) -> MemoryStoreError:
    return MemoryStoreError(
        f"The memory's index in {folder} can't be written: {error}.",
        "Check the folder's permissions and the disk's free space.",
    )


_GRAPH_PORTION = 10_000
"""Entries added to the graph in one call: a call costs about 0.2 s, an entry some memory."""
_TRIES = 5


class Consolidation(NamedTuple):
    """What a consolidation did.

    Attributes:
        status: `built` a generation, left it `unchanged`, or another process is `busy` building.
        generation: The current generation; None if `busy`.
        full: Whether it was built from scratch.
        episodes: How many are in it.
        added: How many of them weren't in the previous generation.
        embedded: Texts that had no stored vector.
        damage: What was wrong with the previous generation, which is now repaired.
        seconds: How long it took.
    """

    status: Literal["built", "unchanged", "busy"]
    generation: int | None = None
    full: bool = False
    episodes: int = 0
    added: int = 0
    embedded: int = 0
    damage: Damage | None = None
    seconds: float = 0.0


class _BuildResult(NamedTuple):
    episodes: int
    added: int
    embedded: int
    end: str
    namespaces: dict[str, str]


def consolidate(
    log: EpisodeLog, folder: Path, embedder: Embedder, *, full: bool = False
) -> Consolidation:
    """Extend the generation in `folder` to the log's end, unless another process is doing so.

    New entries are added to a copy of the last generation. It is built from scratch if there is no
    last generation, it is damaged or another log's, `full` is set, the embedder is another, or
    something was forgotten; then older generations, which hold that, are removed immediately.

    If it is killed, the last generation stays as it was, and the next call removes the remains.

    Raises:
        MemoryStoreError: The log, the embedder or the disk fails; the last generation stays.
    """
    began = time.monotonic()
    with consolidation_lock(folder) as ours:
        if not ours:
            return Consolidation("busy")
        clean(folder)
        base, damage = _open_base(folder)
        try:
            done = _build_next(log, folder, embedder, None if full else base)
        finally:
            if base is not None:
                base.close()
        sweep(folder, done.generation or 0, log.forgotten())
    return done._replace(damage=damage, seconds=time.monotonic() - began)


def _open_base(folder: Path) -> tuple[Generation | None, Damage | None]:
    found = open_current(folder)
    return (None, found) if isinstance(found, Damage) else (found, None)


def _build_next(
    log: EpisodeLog, folder: Path, embedder: Embedder, base: Generation | None
) -> Consolidation:
    for _ in range(_TRIES):
        forgotten, last = log.forgotten(), log.last_position()
        if base is not None and not _is_usable(base.manifest, log, embedder, forgotten):
            base = None
        if base is not None and base.manifest.last_position == last:
            return Consolidation("unchanged", base.manifest.number, episodes=base.manifest.episodes)
        made = new_folder(folder)
        try:
            built = _build(log, made, embedder, base, last)
            if log.forgotten() != forgotten:
                continue
            manifest = Manifest(
                number=next_number(folder),
                embedder=embedder.name,
                dimension=embedder.dimension,
                last_position=last,
                end=built.end,
                forgotten=forgotten,
                namespaces=built.namespaces,
                episodes=built.episodes,
                files={},
            )
            publish(folder, made, manifest)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return Consolidation(
            "built", manifest.number, base is None, built.episodes, built.added, built.embedded
        )
    raise MemoryStoreError(
        f"Episodes were forgotten each time the index in {folder} was nearly built.",
        "Try again when no process removes episodes.",
    )


def _is_usable(base: Manifest, log: EpisodeLog, embedder: Embedder, forgotten: int) -> bool:
    same = base.dimension == embedder.dimension
    return same and not void_reason(base, log, forgotten, embedder.name)


def _build(
    log: EpisodeLog, made: Path, embedder: Embedder, base: Generation | None, last: int
) -> _BuildResult:
    indexes: dict[str, FaissIndex] = {}
    first, end = 0, ""
    if base is not None:
        first, end = base.manifest.last_position, base.manifest.end
        for namespace in base.manifest.namespaces:
            index = base.index(namespace)
            if index is not None:
                indexes[namespace] = index
        shutil.copyfile(base.path / GRAPH, made / GRAPH)
    added = embedded = 0
    with closing(KuzuGraph(made / GRAPH)) as graph:
        waiting: list[LogEntry] = []
        for batch in read_batches(log, first, last):
            embedded += _index_prompts(log, embedder, batch, indexes)
            added += len(batch)
            end = end_of(batch[-1])
            waiting += batch
            if len(waiting) >= _GRAPH_PORTION:
                graph.add(waiting)
                waiting = []
        graph.add(waiting)
    folders = {name: f"vectors/{n}" for n, name in enumerate(sorted(indexes))}
    for name, where in folders.items():
        indexes[name].write(made / where)
    return _BuildResult(sum(map(len, indexes.values())), added, embedded, end, folders)


def _index_prompts(
    log: EpisodeLog, embedder: Embedder, entries: list[LogEntry], indexes: dict[str, FaissIndex]
) -> int:
    rows, embedded = prompt_vectors(log, embedder, entries)
    for namespace, numbers in group_by_namespace(entries).items():
        index = indexes.setdefault(namespace, FaissIndex(embedder.dimension))
        index.add([entries[n].position for n in numbers], rows[numbers])
    return embedded
