"""Beliefs that come of entries."""

from __future__ import annotations

from collections.abc import Iterable

from prefect_swarm.memory.episode import LogEntry
from prefect_swarm.memory.learning.beliefs import Beliefs
from prefect_swarm.memory.learning.reward import DEFAULTS, LearningConfig


def fold(entries: Iterable[LogEntry], config: LearningConfig = DEFAULTS) -> Beliefs:
    """Learn from entries in the order of the log."""
    beliefs = Beliefs(namespace="default", config=config)
    for entry in entries:
        beliefs.learn(entry)
    return beliefs
