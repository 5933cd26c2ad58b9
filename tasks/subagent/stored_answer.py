"""What attempts came to on other machines, kept in the run's store by the attempt's cache key.

The process that asked for one may be gone when it ends. Who goes on with the run finds it here.
"""

from __future__ import annotations

import logging

from ...data_types import Frozen
from ...errors import Category, RunDamagedError, StorageError
from ...store.attempt import Usage
from ...store.protocol import RunStore
from .request import SubagentResult

__all__ = ["StoredAnswer", "store_answer", "stored_answer"]


_logger = logging.getLogger("prefect_swarm.runs")


class StoredAnswer(Frozen):
    """What an attempt came to; `taken` is what the process took that worked on it last."""

    result: SubagentResult
    taken: Usage


def stored_answer(run: RunStore, key: str) -> StoredAnswer | None:
    """Return what an attempt came to; None where nothing is kept of that, or it is damaged."""
    try:
        return run.record("answered", StoredAnswer, key)
    except RunDamagedError as error:
        _logger.warning("%s The step is asked again.", error.problem)
        return None


def store_answer(run: RunStore, key: str, answered: StoredAnswer) -> None:
    """Keep what an attempt came to; what a provider didn't answer is asked again.

    Raises:
        RunTakenError: The attempt isn't this process's any more.
    """
    if answered.result.category is Category.UNAVAILABLE:
        return
    try:
        run.write_record("answered", answered, key)
    except StorageError as error:
        _logger.warning("What %s came to is not written down: %s", key, error)
