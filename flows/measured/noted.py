"""Time that is noted while something is done."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...measures.clock import run_time
from ...measures.stretch import Stretch, TimeKind

__all__ = ["NotedTime"]

_LEAST_S = 0.001
"""What takes less is not noted: nobody would look for it."""


@dataclass(slots=True)
class NotedTime:
    """Stretches of time, as they were noted."""

    stretches: list[Stretch] = field(default_factory=list[Stretch])
    clock: Callable[[], float] = field(default=run_time)

    @contextmanager
    def noted(self, kind: TimeKind) -> Generator[None]:
        """Note what the work inside takes, also if it fails."""
        began = self.clock()
        try:
            yield
        finally:
            ended = self.clock()
            if ended - began >= _LEAST_S:
                self.stretches.append(Stretch(kind=kind, started_at=began, ended_at=ended))
