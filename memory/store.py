"""One memory as a process has it: opened once for each place, shared by all its runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from .episode import Episode
from .protocols import EpisodeLog

__all__ = ["Place", "Store", "close_stores", "open_store"]

_LOG = "episodes.sqlite"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory lies.

    Attributes:
        folder: Holds the log, where it is a file, and what is derived from it.
        dsn: Address of the PostgreSQL server that holds the log; "" for the file.
        embedder: What makes the vectors; see `embedder.make_embedder`.
    """

    folder: Path
    dsn: str = ""
    embedder: str = "wordllama"


class Store:
    """The memory of one place.

    Raises:
        MemoryStoreError: The log can't be opened.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.log: EpisodeLog = _open_log(place)

    def remember(self, episode: Episode) -> bool:
        """Write an episode for good; False if it was there already.

        Raises:
            MemoryStoreError: It can't be written.
        """
        return bool(self.log.append([episode]))

    def close(self) -> None:
        """Give connections and files back."""
        self.log.close()


def _open_log(place: Place) -> EpisodeLog:
    if place.dsn:
        from .postgres_log import PostgresLog

        return PostgresLog(place.dsn)
    from .sqlite_log import SqliteLog

    return SqliteLog(place.folder / _LOG)


_stores: dict[Place, Store] = {}
_lock = threading.Lock()


def open_store(place: Place) -> Store:
    """Return the store of that place, opened at the first call.

    Raises:
        MemoryStoreError: It can't be opened.
    """
    with _lock:
        if (store := _stores.get(place)) is None:
            store = _stores[place] = Store(place)
        return store


def close_stores() -> None:
    """Close every store of this process."""
    with _lock:
        while _stores:
            _stores.popitem()[1].close()
