"""Episodes that were read a moment ago: similar steps of a plan recall the same ones."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ..episode import Episode
from ..protocols import EpisodeLog

__all__ = ["KeptEpisodes"]

_MOST = 2_000
"""Of which one takes a few thousand bytes."""


class KeptEpisodes:
    """Reads episodes of a log, and keeps those that were asked for last; safe from any thread.

    What a position holds never changes. It can only be forgotten, and then nothing is kept.
    """

    def __init__(self, log: EpisodeLog, most: int = _MOST) -> None:
        self._log = log
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[int, Episode] = {}
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
                self._kept, self._forgotten = {}, forgotten
            found = {each: self._kept[each] for each in positions if each in self._kept}
        if missing := [each for each in positions if each not in found]:
            found |= self._log.at(missing)
        with self._lock:
            if forgotten == self._forgotten:
                self._keep(found)
        return found

    def _keep(self, found: dict[int, Episode]) -> None:
        # Those that were asked for last stand last.
        for position in found:
            self._kept.pop(position, None)
        self._kept |= found
        if (excess := len(self._kept) - self._most) > 0:
            for position in [*self._kept][:excess]:
                del self._kept[position]
