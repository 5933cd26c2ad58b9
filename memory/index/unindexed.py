"""The log's entries after a generation, with vectors, by namespace, in this process's memory."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ..embedding.stored_vectors import group_by_namespace, prompt_vectors
from ..protocols import Embedder, EpisodeLog, Vectors

__all__ = ["Tail"]

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
