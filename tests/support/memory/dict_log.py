"""A log in memory, for tests where a real one is not the point; and episodes to fill it with."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prefect_swarm.errors import InputError
from prefect_swarm.memory.episode import Episode, EpisodeKey, LogEntry, Selection

__all__ = ["DictLog", "episode"]


def episode(run: str = "r1", step: str = "S1", attempt: int = 1, **fields: Any) -> Episode:
    """An episode with whatever a test says of it."""
    defaults: dict[str, Any] = {
        "prompt": f"Write the part {step} of {run}",
        "persona": "Writer",
        "tier": "worker",
        "model": "small",
        "succeeded": "category" not in fields,
        "started_at": 1.0,
        "ended_at": 2.0,
        "duration_s": 1.0,
        "reward": 0.0,
    }
    return Episode(run=run, step=step, attempt=attempt, **{**defaults, **fields})


class DictLog:
    """`EpisodeLog` over a dict."""

    def __init__(self, episodes: Iterable[Episode] = ()) -> None:
        self._lock = threading.RLock()
        self._rows: dict[int, Episode] = {}
        self._last = 0
        self._forgotten = 0
        self._vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        self.append(episodes)

    def append(self, episodes: Iterable[Episode]) -> int:
        with self._lock:
            known = {(stored.namespace, stored.key) for stored in self._rows.values()}
            before = len(self._rows)
            for stored in episodes:
                if (stored.namespace, stored.key) not in known:
                    known.add((stored.namespace, stored.key))
                    self._last += 1
                    self._rows[self._last] = stored
            return len(self._rows) - before

    def get(self, namespace: str, key: EpisodeKey) -> LogEntry | None:
        found = (e for e in self._entries() if e.episode.key == key)
        return next((e for e in found if e.episode.namespace == namespace), None)

    def since(self, position: int, limit: int = 1000) -> list[LogEntry]:
        return [entry for entry in self._entries() if entry.position > position][:limit]

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        return {p: self._rows[p] for p in positions if p in self._rows}

    def last_position(self) -> int:
        return self._last

    def count(self, namespace: str | None = None) -> int:
        return sum(namespace in (None, stored.namespace) for stored in self._rows.values())

    def select(self, namespace: str, which: Selection) -> list[LogEntry]:
        wanted = {name: getattr(which, name) for name in ("run", "step", "persona")}
        return [
            entry
            for entry in self._entries()
            if entry.episode.namespace == namespace
            and all(v is None or getattr(entry.episode, n) == v for n, v in wanted.items())
        ]

    def forget(self, namespace: str, which: Selection) -> tuple[int, ...]:
        if which == Selection():
            raise InputError("The selection has no condition.")
        with self._lock:
            gone = tuple(entry.position for entry in self.select(namespace, which))
            for position in gone:
                del self._rows[position]
            needed = {stored.digest for stored in self._rows.values()}
            self._vectors = {k: v for k, v in self._vectors.items() if k[1] in needed}
            self._forgotten += 1
        return gone

    def forgotten(self) -> int:
        return self._forgotten

    def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        return {d: self._vectors[embedder, d] for d in digests if (embedder, d) in self._vectors}

    def keep_vectors(self, embedder: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        with self._lock:
            needed = {stored.digest for stored in self._rows.values()}
            for digest in needed & rows.keys():
                self._vectors.setdefault((embedder, digest), rows[digest])

    def vacuum(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _entries(self) -> list[LogEntry]:
        with self._lock:
            return [LogEntry(position, stored) for position, stored in sorted(self._rows.items())]
