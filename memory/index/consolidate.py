"""Building the next generation from the log, by one process at a time."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import MemoryStoreError
from ...neighbours import computing
from ..embedding.stored_vectors import group_by_namespace, prompt_vectors
from ..episode import LogEntry
from ..graph.kuzu import KuzuGraph
from ..log.rows import read_batches
from ..protocols import Embedder, EpisodeLog
from .faiss import FaissIndex
from .generation import GRAPH, Damage, Generation, Manifest, end_of, open_current, void_reason
from .generation_store import clean, consolidation_lock, new_folder, next_number, publish, sweep

__all__ = ["Consolidation", "consolidate"]

_GRAPH_PORTION = 10_000
"""Entries that are added to the graph at once: a call costs about 0.2 s, an entry some memory."""
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
    something was forgotten; then older generations, which hold that, are removed at once.

    If it is killed, the last generation stays as it was, and the next call removes the remains.

    Raises:
        MemoryStoreError: The log, the embedder or the disk fails; the last generation stays.
    """
    began = time.monotonic()
    with consolidation_lock(folder) as ours, computing():
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
    begun, end = 0, ""
    if base is not None:
        begun, end = base.manifest.last_position, base.manifest.end
        for namespace in base.manifest.namespaces:
            index = base.index(namespace)
            if index is not None:
                indexes[namespace] = index
        shutil.copyfile(base.path / GRAPH, made / GRAPH)
    added = embedded = 0
    with closing(KuzuGraph(made / GRAPH)) as graph:
        waiting: list[LogEntry] = []
        for batch in read_batches(log, begun, last):
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
