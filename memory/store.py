"""The memory of a place, opened once in a process and shared by its runs."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MemoryStoreError
from .episode import Episode, LogEntry
from .log.kept_episodes import KeptEpisodes

if TYPE_CHECKING:
    from .index.consolidate import Consolidation
    from .index.reader import Reader
    from .learning.beliefs import Beliefs
    from .persona.store import PersonaStore
    from .protocols import Embedder, EpisodeLog

__all__ = ["Place", "Store", "close_stores", "find_open_store", "open_store"]

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
        self._episodes = KeptEpisodes(self.log)
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
        from .embedding.factory import make_embedder

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
        from .persona.store import PersonaStore

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
        from .learning.storage import catch_up, read_beliefs

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
        from .learning.storage import write_beliefs

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
        from .index.consolidate import consolidate

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


# Put in by `open_store`, which the flow calls (`flows/run_memory.py`); found by `find_open_store`,
# which the recall task calls (`tasks/recall.py`). The store can't be a parameter of the task run:
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
