"""Which memories a step is reminded of. Pure.

Two phases (MemRL, arXiv 2601.03192): what is similar enough, no two of it nearly the same; then a
ranking by similarity and by how much each memory has helped, both as z-scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..episode import Episode, LogEntry
from ..learning.config import DEFAULTS, LearningConfig

__all__ = ["Alike", "MemoryCandidate", "RankedMemory", "recall"]

Alike = Callable[[Episode, Episode], float]
"""Similarity of two episodes' prompts, -1 to 1."""

_POOL = 10


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory that might help.

    Attributes:
        similarity: Of its prompt to the step's, -1 to 1.
        q: What it was worth where it was used; `Beliefs.q_of_memory`.
    """

    entry: LogEntry
    similarity: float
    q: float


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A memory to be reminded of; the higher its score among those recalled with it, the better."""

    entry: LogEntry
    similarity: float
    q: float
    score: float


def recall(
    candidates: Iterable[MemoryCandidate], alike: Alike, config: LearningConfig = DEFAULTS
) -> list[RankedMemory]:
    """Return the memories that help most likely, best first; none if nothing passes the gate.

    Args:
        candidates: In any order, each entry once.
        alike: How similar two prompts are; asked of what passes the gate only.
    """
    passed = [candidate for candidate in candidates if candidate.similarity >= config.gate]
    passed.sort(key=_by_nearness)
    kept = sorted(
        _drop_duplicates(passed[: _POOL * config.candidates], alike, config), key=_by_nearness
    )
    kept = kept[: config.candidates]
    similarities = _z([candidate.similarity for candidate in kept])
    values = _z([candidate.q for candidate in kept])
    ranked = [
        RankedMemory(
            candidate.entry,
            candidate.similarity,
            candidate.q,
            (1 - config.q_weight) * similarity + config.q_weight * value,
        )
        for candidate, similarity, value in zip(kept, similarities, values, strict=True)
    ]
    # Sorting is stable: equal scores stay in the order of similarity.
    return sorted(ranked, key=lambda memory: -memory.score)


def _by_nearness(candidate: MemoryCandidate) -> tuple[float, int]:
    return (-candidate.similarity, -candidate.entry.position)


def _drop_duplicates(
    candidates: Sequence[MemoryCandidate], alike: Alike, config: LearningConfig
) -> list[MemoryCandidate]:
    """Leave out what is nearly the same as a better one.

    Better is what has helped more, then what succeeded, then what is nearer, then what is newer.
    """
    kept: list[MemoryCandidate] = []
    for candidate in sorted(
        candidates,
        key=lambda candidate: (
            -candidate.q,
            not candidate.entry.episode.succeeded,
            *_by_nearness(candidate),
        ),
    ):
        mine = candidate.entry.episode
        digest = mine.digest
        if not any(
            other.entry.episode.digest == digest
            or alike(mine, other.entry.episode) > config.duplicate
            for other in kept
        ):
            kept.append(candidate)
    return kept


def _z(values: Sequence[float]) -> list[float]:
    """Standard scores; all 0 where nothing varies."""
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    # Values that differ by rounding alone don't vary.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]
