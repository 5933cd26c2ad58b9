"""The memory of a place, opened once in a process and shared by its runs."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MemoryStoreError
from .episode import Episode, LogEntry

if TYPE_CHECKING:
    from .index.generation_store import Consolidation
    from .index.reader import Reader
    from .learning.beliefs import Beliefs
    from .personas.store import PersonaStore
    from .protocols import Embedder, EpisodeLog

__all__ = [
    "EpisodeCache",
    "Place",
    "Store",
    "build_index",
    "close_stores",
    "configured_place",
    "find_open_store",
    "open_configured_store",
    "open_store",
]

_LOG = "episodes.sqlite"
_PERSONAS = "personas.sqlite"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory lies.

    Attributes:
        folder: Holds the log, where it is a file, and what is derived from it.
        dsn: Address of the PostgreSQL server that holds the log; "" for the file.
        embedder: What makes the vectors; see `make_embedder`.
    """

    folder: Path
    dsn: str = ""
    embedder: str = "wordllama"

    @property
    def key(self) -> str:
        """Identifies it in a process, without the password that the address may have."""
        text = f"{self.folder}\n{self.dsn}\n{self.embedder}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """The memory of one place.

    Raises:
        MemoryStoreError: The log can't be opened.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.log: EpisodeLog = _open_log(place)
        self._episodes = EpisodeCache(self.log)
        self._lock = threading.Lock()
        self._learning = threading.Lock()
        self._beliefs: dict[str, tuple[int, Beliefs]] = {}
        self._reader: Reader | None = None
        self._personas: PersonaStore | None = None

    def remember(self, episode: Episode) -> bool:
        """Write an episode for good; False if it was written before.

        Raises:
            MemoryStoreError: It can't be written.
        """
        return bool(self.log.append([episode]))

    @property
    def embedder(self) -> Embedder:
        """What makes the vectors; nothing is loaded before its first use."""
        from .embedding import make_embedder

        return make_embedder(self.place.embedder)

    @property
    def reader(self) -> Reader:
        """Finds similar episodes; it loads the embedder at the first question."""
        from .index.reader import Reader

        with self._lock:
            if self._reader is None:
                self._reader = Reader(self.log, self.place.folder, self.embedder)
            return self._reader

    @property
    def personas(self) -> PersonaStore:
        """What was decided about personas, and the registry that follows from it."""
        from .personas.store import PersonaStore

        with self._lock:
            if self._personas is None:
                own = self.place.folder.parent / "personas"
                self._personas = PersonaStore(self.place.folder / _PERSONAS, own)
            return self._personas

    @property
    def has_personas(self) -> bool:
        """Whether anything was ever decided about personas here; asking for them makes the file."""
        return (self.place.folder / _PERSONAS).exists()

    def similar(self, namespace: str, text: str, k: int) -> tuple[tuple[LogEntry, float], ...]:
        """Return the k episodes whose prompts are most like a text, the most similar first.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        matches = self.reader.search(namespace, text, k)
        episodes = self._episodes.at([match.position for match in matches])
        return tuple(
            (LogEntry(match.position, episodes[match.position]), match.similarity)
            for match in matches
            if match.position in episodes
        )

    def beliefs(self, namespace: str) -> Beliefs:
        """Return the beliefs that follow from the whole log.

        Raises:
            MemoryStoreError: The log can't be read.
        """
        from .learning.beliefs import catch_up, read_beliefs

        with self._learning:
            forgotten = self.log.forgotten()
            known, beliefs = self._beliefs.get(namespace, (-1, None))
            if beliefs is None or known != forgotten:
                beliefs = read_beliefs(self.place.folder, namespace, forgotten)
                self._beliefs[namespace] = (forgotten, beliefs)
            return catch_up(self.log, beliefs)

    def keep_beliefs(self, namespace: str) -> None:
        """Save the beliefs for later processes.

        Raises:
            MemoryStoreError: The log can't be read, or the file not be written.
        """
        from .learning.beliefs import write_beliefs

        beliefs = self.beliefs(namespace)
        with self._learning:
            write_beliefs(self.place.folder, beliefs, self._beliefs[namespace][0])

    def prompt_similarity(self, first: Episode, second: Episode) -> float:
        """Similarity of two prompts by the kept embeddings; 0 if one is missing."""
        if first.digest == second.digest:
            return 1.0
        found = self.log.vectors(self.embedder.name, [first.digest, second.digest])
        return float(found[first.digest] @ found[second.digest]) if len(found) > 1 else 0.0

    def consolidate(self, *, full: bool = False) -> Consolidation:
        """Bring the indexes up to the log's end; see `consolidate.consolidate`.

        Raises:
            MemoryStoreError: The log, the embedder or the disk fails.
        """
        from .index.generation_store import consolidate

        return consolidate(self.log, self.place.folder, self.embedder, full=full)

    def close(self) -> None:
        """Close connections and files."""
        if self._reader is not None:
            self._reader.close()
        if self._personas is not None:
            self._personas.close()
        self.log.close()


def _open_log(place: Place) -> EpisodeLog:
    if place.dsn:
        from .log.postgres import PostgresLog

        return PostgresLog(place.dsn)
    from .log.sqlite import SqliteLog

    return SqliteLog(place.folder / _LOG)


# Put in by `open_store`, which the flow calls (`flows/memory.py`); found by `find_open_store`,
# which the recall task calls (`tasks/memory.py`). The store can't be a parameter of the task run:
# Prefect serializes parameters, and a store holds open connections and locks. So the task gets
# `Place.key`.
_stores: dict[Place, Store] = {}
_lock = threading.Lock()


def open_store(place: Place) -> Store:
    """Return the store of that place, opened at the first call and kept for `find_open_store`.

    Raises:
        MemoryStoreError: It can't be opened.
    """
    with _lock:
        if (store := _stores.get(place)) is None:
            store = _stores[place] = Store(place)
        return store


def find_open_store(key: str) -> Store:
    """Return the store that `open_store` opened in this process, by its place's key.

    Raises:
        MemoryStoreError: This process has no such store open.
    """
    with _lock:
        for place, store in _stores.items():
            if place.key == key:
                return store
    raise MemoryStoreError("This process has no such memory open.", "Start the run again.")


def close_stores() -> None:
    """Close every store of this process."""
    with _lock:
        while _stores:
            _stores.popitem()[1].close()


def configured_place(embedder: str = "wordllama") -> Place:
    """Return where the settings say that the memory lies."""
    from ..settings import SwarmSettings, home

    return Place(home() / "memory", SwarmSettings().memory or "", embedder)


@contextmanager
def open_configured_store(embedder: str = "wordllama") -> Generator[Store]:
    """Open the memory that the settings name, and close it.

    Raises:
        InputError: There is no embedder of that name.
        MemoryStoreError: The memory can't be opened.
    """
    from .embedding import make_embedder

    make_embedder(embedder)
    store = Store(configured_place(embedder))
    try:
        yield store
    finally:
        store.close()


_MOST = 2_000
"""Of which one takes a few thousand bytes."""


class EpisodeCache:
    """Reads episodes of a log, and keeps those that were asked for last; safe from any thread.

    What a position holds never changes. It can only be forgotten, and then nothing is kept.
    """

    def __init__(self, log: EpisodeLog, most: int = _MOST) -> None:
        self._log = log
        self._most = most
        self._lock = threading.Lock()
        self._cached: dict[int, Episode] = {}
        self._forgotten = -1

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        """Return the episodes at those positions; forgotten ones are left out.

        Raises:
            MemoryStoreError: The log can't be read.
        """
        # Before the episodes: what is forgotten after this is read anew at the next call.
        forgotten = self._log.forgotten()
        with self._lock:
            if forgotten != self._forgotten:
                self._cached, self._forgotten = {}, forgotten
            found = {each: self._cached[each] for each in positions if each in self._cached}
        if missing := [each for each in positions if each not in found]:
            found |= self._log.at(missing)
        with self._lock:
            if forgotten == self._forgotten:
                self._keep(found)
        return found

    def _keep(self, found: dict[int, Episode]) -> None:
        # Those that were asked for last stand last.
        for position in found:
            self._cached.pop(position, None)
        self._cached |= found
        if (excess := len(self._cached) - self._most) > 0:
            for position in [*self._cached][:excess]:
                del self._cached[position]


_PATIENCE_S = 120.0
_PAUSE_S = 0.2


def build_index(store: Store, *, full: bool = False) -> Consolidation:
    """Bring the index up to the log's end; wait while another process is doing so.

    Raises:
        MemoryStoreError: The index can't be built, or the other process takes too long.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while (done := store.consolidate(full=full)).status == "busy":
        if time.monotonic() > deadline:
            raise MemoryStoreError(
                f"Another process is building the index in {store.place.folder} all the time.",
                "Try again when it has ended: prefect-swarm memory rebuild",
            )
        time.sleep(_PAUSE_S)
    return done
