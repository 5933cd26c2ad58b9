"""Protocols of the memory's log, embedder, vector index and graph.

Every implementation passes the conformance suite in `tests/support/memory/conformance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .episode import Episode, EpisodeKey, LogEntry, Selection

__all__ = ["Embedder", "EpisodeLog", "Graph", "Match", "Vectors"]


Vectors = NDArray[np.float32]
"""Rows of length 1, shape (n, dimension)."""


class EpisodeLog(Protocol):
    """The source of truth: append-only rows that any number of processes write in parallel.

    All calls are safe from any thread and process, block, and raise `MemoryStoreError` where the
    store can't be opened, read or written.
    """

    def append(self, episodes: Iterable[Episode]) -> int:
        """Write episodes, all or none; return how many are new. Existing keys are not overwritten.

        Raises:
            InputError: A number is not finite, or has more than 63 bits.
        """
        ...

    def get(self, namespace: str, key: EpisodeKey) -> LogEntry | None: ...

    def since(self, position: int, limit: int = 1000) -> list[LogEntry]:
        """Up to `limit` entries of all namespaces after a position, by position."""
        ...

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        """The episodes at those positions; forgotten ones are left out."""
        ...

    def last_position(self) -> int:
        """The highest position ever assigned, forgotten episodes included; 0 if none."""
        ...

    def count(self, namespace: str | None = None) -> int: ...

    def select(self, namespace: str, which: Selection) -> list[LogEntry]:
        """The entries that match, by position; without a condition all of the namespace."""
        ...

    def forget(self, namespace: str, which: Selection) -> tuple[int, ...]:
        """Remove episodes and the embeddings only they need for good; return their positions.

        The bytes are overwritten, not just unlinked. `forgotten` tells indexes about it.

        Raises:
            InputError: The selection has no condition.
        """
        ...

    def forgotten(self) -> int:
        """How often something was forgotten; an index made under another number is void."""
        ...

    def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The embeddings that are kept of those texts, by digest."""
        ...

    def keep_vectors(self, embedder: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep embeddings of prompts that episodes have; existing ones are not overwritten.

        What no episode has is not kept: its text may have been forgotten in the meantime.
        """
        ...

    def vacuum(self) -> None:
        """Give unused space back."""
        ...

    def close(self) -> None: ...


class Embedder(Protocol):
    """Turns texts into vectors of length 1. Deterministic; safe from any thread."""

    @property
    def name(self) -> str:
        """Kind, model and version: only vectors of the same name may be compared."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Shape (n, dimension); an empty text gives a row of zeros."""
        ...


class Match(NamedTuple):
    """A position in the log and its cosine similarity, -1 to 1."""

    position: int
    similarity: float


class Graph(Protocol):
    """Failures, what repaired them, and where outputs came from. Opened read-only once built."""

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Add episodes; a step's attempts come in order, but may be spread over calls."""
        ...

    def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a read-only question, by column."""
        ...

    def close(self) -> None: ...
