"""What the log has beyond a generation, with vectors, by namespace, in this process's memory."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .prompt_vectors import prompt_vectors
from .protocols import Embedder, EpisodeLog, Vectors

__all__ = ["Tail"]

_PORTION = 1000


class Tail:
    """Entries after a position. `catch_up` is for one thread at a time; `of` for any."""

    def __init__(self, log: EpisodeLog, embedder: Embedder, after: int) -> None:
        self._log = log
        self._embedder = embedder
        self._end = after
        self._whole: dict[str, tuple[list[int], Vectors]] = {}

    def __len__(self) -> int:
        return sum(len(positions) for positions, _ in self._whole.values())

    def catch_up(self) -> None:
        """Read what was appended since the last time.

        Raises:
            MemoryStoreError: The log or the embedder fails; what was read so far is kept.
        """
        while entries := self._log.since(self._end, _PORTION):
            rows = prompt_vectors(self._log, self._embedder, entries).rows
            numbers: dict[str, list[int]] = defaultdict(list)
            for n, entry in enumerate(entries):
                numbers[entry.episode.namespace].append(n)
            for namespace, some in numbers.items():
                new = [entries[n].position for n in some]
                positions, vectors = self.of(namespace)
                # New ones instead of longer ones: another thread may be searching the old.
                whole = (positions + new, np.concatenate([vectors, rows[some]]))
                self._whole[namespace] = whole
            self._end = entries[-1].position
            if len(entries) < _PORTION:
                return

    def of(self, namespace: str) -> tuple[list[int], Vectors]:
        """A namespace's positions, rising, and their vectors, shape (n, dimension)."""
        found = self._whole.get(namespace)
        if found is None:
            return [], np.empty((0, self._embedder.dimension), dtype=np.float32)
        return found
