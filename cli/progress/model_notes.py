"""Shows in a run's progress what local models do, and that traces can't be delivered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

__all__ = ["showing_models", "showing_traces"]

_MODELS, _TRACES = "prefect_swarm.models", "prefect_swarm.tracing"


class _Notes(logging.Handler):
    """Hands each line to a function."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        # An engine's thread must not end because nobody reads stderr any more.
        with suppress(OSError, ValueError):
            self._note(record.getMessage())


@contextmanager
def showing_models(note: Callable[[str], None]) -> Generator[None]:
    """Have the lines that engines log on their models noted inside.

    Args:
        note: Called from an engine's own thread.
    """
    with _showing(_MODELS, note):
        yield


@contextmanager
def showing_traces(note: Callable[[str], None]) -> Generator[None]:
    """Have it noted inside why there are no traces, or why they don't arrive.

    Args:
        note: Called from the thread that sends them.
    """
    with _showing(_TRACES, note):
        yield


@contextmanager
def _showing(name: str, note: Callable[[str], None]) -> Generator[None]:
    logger, handler = logging.getLogger(name), _Notes(note)
    level, propagate = logger.level, logger.propagate
    if not logger.isEnabledFor(logging.INFO):
        # Whoever has not asked for these lines would otherwise get them from the root's handlers.
        logger.setLevel(logging.INFO)
        logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
