"""Reading a log in batches, without having all of it in memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..episode import LogEntry
from ..protocols import EpisodeLog

__all__ = ["read_batches"]

_BATCH = 1000


def read_batches(
    log: EpisodeLog, after: int = 0, last: int | None = None
) -> Iterator[list[LogEntry]]:
    """Yield the entries after a position, and up to `last` if given, in batches, in order.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    while last is None or after < last:
        entries = log.since(after, _BATCH)
        if last is not None:
            entries = [entry for entry in entries if entry.position <= last]
        if not entries:
            return
        yield entries
        after = entries[-1].position
