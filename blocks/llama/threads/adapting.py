"""The count of an engine's threads, which follows what else computes."""

from __future__ import annotations

from collections.abc import Callable

from ....neighbours import announced
from ..api import usable_cores
from .deciding import decide_threads
from .foreign_load import ForeignLoad

__all__ = ["AdaptiveThreads"]


class AdaptiveThreads:
    """Sets the threads of a context; it belongs to the context's own thread."""

    def __init__(
        self,
        set_threads: Callable[[int], None],
        fixed: int | None = None,
        *,
        cores: int | None = None,
        foreign: Callable[[], float | None] | None = None,
    ) -> None:
        """Begin with all cores, which is what a new context computes with.

        Args:
            set_threads: Sets the count from the next batch on.
            fixed: What the user set; then nothing is ever changed.
            cores: Cores that this process may use; None finds out.
            foreign: Gives the cores that other processes keep busy; None measures it.
        """
        self._set_threads = set_threads
        self._fixed = fixed is not None
        self._cores = usable_cores() if cores is None else cores
        self._foreign = foreign or ForeignLoad().cores
        self._current = self._cores

    def adapt(self) -> None:
        """Change the count if what else computes has changed; cheap enough for every step."""
        if self._fixed or self._cores == 1:
            return
        wanted = decide_threads(self._cores, announced(), self._foreign(), self._current)
        if wanted != self._current:
            self._set_threads(wanted)
            self._current = wanted
