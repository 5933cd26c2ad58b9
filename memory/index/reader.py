"""Reading the memory: the current generation, and the entries of the log that came after it."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import MemoryStoreError
from ..embedding import group_by_namespace, prompt_vectors
from ..graph import KuzuGraph
from ..protocols import Embedder, EpisodeLog, Match, Vectors
from .faiss import FaissIndex, search_tail, top_matches
from .generation import Damage, Generation, Pointer, open_generation, read_pointer, void_reason

__all__ = ["IndexStatus", "Reader", "Tail"]


_PORTION = 1000


class Tail:
    """Entries after a position. One thread at a time may call `catch_up`, any may call `get`."""

    def __init__(self, log: EpisodeLog, embedder: Embedder, after: int) -> None:
        self._log = log
        self._embedder = embedder
        self._end = after
        self._whole: dict[str, tuple[list[int], Vectors]] = {}

    def __len__(self) -> int:
        return sum(len(positions) for positions, _ in self._whole.values())

    def catch_up(self) -> None:
        """Read what was appended since the last call.

        Raises:
            MemoryStoreError: The log or the embedder fails; the tail is unchanged.
        """
        positions: dict[str, list[int]] = defaultdict(list)
        parts: dict[str, list[Vectors]] = defaultdict(list)
        end, more = self._end, True
        while more and (entries := self._log.since(end, _PORTION)):
            rows = prompt_vectors(self._log, self._embedder, entries).rows
            for namespace, numbers in group_by_namespace(entries).items():
                positions[namespace] += [entries[n].position for n in numbers]
                parts[namespace].append(rows[numbers])
            end, more = entries[-1].position, len(entries) == _PORTION
        for namespace, new in positions.items():
            # A new list, since another thread may be searching the old one.
            positions_before, vectors = self.get(namespace)
            self._whole[namespace] = (
                positions_before + new,
                np.concatenate([vectors, *parts[namespace]]),
            )
        self._end = end

    def get(self, namespace: str) -> tuple[list[int], Vectors]:
        """A namespace's positions, rising, and their vectors, shape (n, dimension)."""
        found = self._whole.get(namespace)
        if found is None:
            return [], np.empty((0, self._embedder.dimension), dtype=np.float32)
        return found


class IndexStatus(NamedTuple):
    """What a search uses.

    Attributes:
        generation: Its number; None if no generation can be used.
        indexed: Episodes in it.
        tail: Later episodes, which are searched by brute force.
        void: Why an undamaged generation isn't used: its embedder, or something forgotten.
        damage: Why the generation can't be read.
    """

    generation: int | None
    indexed: int
    tail: int
    void: str
    damage: Damage | None


class Reader:
    """Searches the log through the newest generation; safe from any thread.

    A generation that is damaged, of another embedder or older than the last forgetting isn't used.
    Until a consolidation repairs it, the whole log is searched by brute force.
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
        """The k episodes whose prompts are most like a text, best first; ties by position.

        Whatever was appended before the call is found.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        return self.search_vector(namespace, self._embedder.embed([text])[0], k)

    def search_vector(self, namespace: str, vector: NDArray[np.float32], k: int) -> list[Match]:
        """The same for a vector of this embedder.

        Raises:
            MemoryStoreError: The log can't be read, or the embedder fails.
        """
        with self._lock:
            self._refresh()
            index = self._index(namespace)
            positions, vectors = self._tail.get(namespace)
        indexed = index.search(vector, k) if index else []
        return top_matches([*indexed, *search_tail(vectors, positions, vector, k)], k)

    def graph(self) -> KuzuGraph | None:
        """The generation's graph, without later episodes; None without a generation."""
        return self.graph_and_end()[0]

    def graph_and_end(self) -> tuple[KuzuGraph | None, int]:
        """The generation's graph, and the position up to which it is complete."""
        with self._lock:
            self._switch_generation()
            if self._graph is None and self._generation is not None:
                try:
                    self._graph = self._generation.graph()
                except MemoryStoreError as error:
                    self._discard_generation(error)
            end = self._generation.manifest.last_position if self._generation else 0
            return self._graph, end

    def status(self) -> IndexStatus:
        """What a search would use now.

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
        """Close the generation; the log stays open."""
        with self._lock:
            self._release()
            self._seen = None

    def _refresh(self) -> None:
        self._switch_generation()
        self._tail.catch_up()

    def _switch_generation(self) -> None:
        """Open the current generation if it has changed."""
        now = (read_pointer(self._folder), self._log.forgotten())
        while now != self._seen:
            self._seen = now
            self._open(*now)
            # A process that has set another pointer may have removed this generation meanwhile.
            now = (read_pointer(self._folder), self._log.forgotten())

    def _open(self, pointer: Pointer | Damage | None, forgotten: int) -> None:
        self._release()
        found = open_generation(self._folder, pointer) if isinstance(pointer, Pointer) else pointer
        if isinstance(found, Damage):
            self._damage = found
        elif found is not None:
            self._void = void_reason(found.manifest, self._log, forgotten, self._embedder.name)
            if self._void:
                found.close()
            else:
                self._generation = found
        self._start_tail()

    def _index(self, namespace: str) -> FaissIndex | None:
        if self._generation is None:
            return None
        try:
            return self._generation.index(namespace)
        except MemoryStoreError as error:
            self._discard_generation(error)
            self._tail.catch_up()
            return None

    def _discard_generation(self, error: MemoryStoreError) -> None:
        """Stop using a generation that can't be read although its seals are right."""
        path = str(self._generation.path) if self._generation else ""
        self._release()
        self._damage = Damage("unreadable", path, error.problem)
        self._start_tail()

    def _start_tail(self) -> None:
        first = self._generation.manifest.last_position if self._generation else 0
        self._tail = Tail(self._log, self._embedder, first)

    def _release(self) -> None:
        if self._generation is not None:
            self._generation.close()
        # Callers that still use the graph keep it open.
        self._generation = self._graph = None
        self._void, self._damage = "", None
