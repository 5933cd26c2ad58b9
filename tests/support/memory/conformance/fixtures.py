"""Fixtures of the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prefect_swarm.memory.episode import Episode, Selection
from prefect_swarm.memory.protocols import EpisodeLog

__all__ = ["EVERYTHING", "LogFixtures", "everything", "runs", "vector"]

EVERYTHING = Selection(everything=True)


def vector(seed: int, dimension: int = 8) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector of length 1."""
    drawn = np.random.default_rng(seed).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def runs(log: EpisodeLog, namespace: str, **conditions: Any) -> list[str]:
    """The runs of the episodes that are meant."""
    return [entry.episode.run for entry in log.select(namespace, Selection(**conditions))]


def everything(log: EpisodeLog) -> list[Episode]:
    """All episodes."""
    return [entry.episode for entry in log.since(0, 100_000)]


class LogFixtures:
    """What the tests of a log have to provide."""

    @pytest.fixture
    def log(self) -> EpisodeLog:
        """A log with nothing in it."""
        raise NotImplementedError

    @pytest.fixture
    def reopen(self) -> Callable[[], EpisodeLog]:
        """Opens the log of `log` once more."""
        raise NotImplementedError

    @pytest.fixture
    def new_log(self) -> Callable[[], EpisodeLog]:
        """Opens logs with nothing in them."""
        raise NotImplementedError
