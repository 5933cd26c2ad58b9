"""Reading the memory: the newest generation and what the log has beyond it, never stale."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import MemoryStoreError
from ..graph.kuzu import KuzuGraph
from ..protocols import Embedder, EpisodeLog, Match
from .faiss import FaissIndex
from .generation import Damage, Generation, Pointer, open_generation, read_pointer, why_void
from .similarity import best, search_tail
from .unindexed import Tail

__all__ = ["IndexStatus", "Reader"]


class IndexStatus(NamedTuple):
    """What a search stands on.

    Attributes:
        generation: Its number; None if there is none that can be used.
        indexed: Episodes in it.
        tail: Episodes that are searched by brute force, besides.
        void: Why a generation that is whole isn't used: its embedder, or something forgotten.
        damage: Why there is none that can be read.
    """

    generation: int | None
    indexed: int
    tail: int
    void: str
    damage: Damage | None


class Reader:
    """Searches the log through the newest generation; safe from any thread.

    A generation that is damaged, of another embedder or older than the last forgetting isn't used:
    everything is then searched by brute force from the log, until a consolidation has repaired it.
    """

    def __init__(self, log: EpisodeLog, folder: Path, embedder: Embedder) -> None:
        self._log = log
        self._folder = folder
        self._embedder = embedder
        self._lock = threading.Lock()
        self._seen: tuple[Pointer | Damage | None, int] | None = None
        self._generation: Generation | None = None
        self._graph: KuzuGraph | None = None
        self._void = ""
        self._damage: Damage | None = None
        self._tail = Tail(log, embedder, 0)

    def search(self, namespace: str, text: str, k: int) -> list[Match]:
        """The k episodes whose prompts are most like a text, best first; equal ones by position.

        Whatever was appended before the call is found.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        return self.nearest(namespace, self._embedder.embed([text])[0], k)

    def nearest(self, namespace: str, vector: NDArray[np.float32], k: int) -> list[Match]:
        """The same for a vector of the embedder's.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        with self._lock:
            self._refresh()
            index = self._index(namespace)
            positions, vectors = self._tail.of(namespace)
        indexed = index.search(vector, k) if index else []
        return best([*indexed, *search_tail(vectors, positions, vector, k)], k)

    def graph(self) -> KuzuGraph | None:
        """The generation's graph, which doesn't have what came after it; None without one."""
        return self.graphed()[0]

    def graphed(self) -> tuple[KuzuGraph | None, int]:
        """The generation's graph, and the position up to which it has everything."""
        with self._lock:
            self._move()
            if self._graph is None and self._generation is not None:
                try:
                    self._graph = self._generation.graph()
                except MemoryStoreError as error:
                    self._set_aside(error)
            end = self._generation.manifest.last_position if self._generation else 0
            return self._graph, end

    def status(self) -> IndexStatus:
        """What a search would stand on now.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        with self._lock:
            self._refresh()
            manifest = self._generation.manifest if self._generation else None
            return IndexStatus(
                generation=manifest.number if manifest else None,
                indexed=manifest.episodes if manifest else 0,
                tail=len(self._tail),
                void=self._void,
                damage=self._damage,
            )

    def close(self) -> None:
        """Let go of the generation; the log stays open."""
        with self._lock:
            self._let_go()
            self._seen = None

    def _refresh(self) -> None:
        self._move()
        self._tail.catch_up()

    def _move(self) -> None:
        """Go over to the generation that counts, if it is another than at the last time."""
        now = (read_pointer(self._folder), self._log.forgotten())
        while now != self._seen:
            self._seen = now
            self._open(*now)
            # What the pointer named may have been removed meanwhile, by who has set another.
            now = (read_pointer(self._folder), self._log.forgotten())

    def _open(self, pointer: Pointer | Damage | None, forgotten: int) -> None:
        self._let_go()
        found = open_generation(self._folder, pointer) if isinstance(pointer, Pointer) else pointer
        if isinstance(found, Damage):
            self._damage = found
        elif found is not None:
            self._void = why_void(found.manifest, self._log, forgotten, self._embedder.name)
            if self._void:
                found.close()
            else:
                self._generation = found
        self._begin_tail()

    def _index(self, namespace: str) -> FaissIndex | None:
        if self._generation is None:
            return None
        try:
            return self._generation.index(namespace)
        except MemoryStoreError as error:
            self._set_aside(error)
            self._tail.catch_up()
            return None

    def _set_aside(self, error: MemoryStoreError) -> None:
        """Do without a generation whose seals are right and that still can't be read."""
        path = str(self._generation.path) if self._generation else ""
        self._let_go()
        self._damage = Damage("unreadable", path, error.problem)
        self._begin_tail()

    def _begin_tail(self) -> None:
        begun = self._generation.manifest.last_position if self._generation else 0
        self._tail = Tail(self._log, self._embedder, begun)

    def _let_go(self) -> None:
        if self._generation is not None:
            self._generation.close()
        # Who still asks the graph keeps it open.
        self._generation = self._graph = None
        self._void, self._damage = "", None
