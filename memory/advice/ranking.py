"""Which memories are recalled for a step. Pure.

Two phases (MemRL, arXiv 2601.03192): memories that are similar enough, without near duplicates;
then a ranking by similarity and by how much each memory has helped, both as z-scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..episode import Episode, LogEntry
from ..learning.config import DEFAULTS, LearningConfig

__all__ = ["MemoryCandidate", "PromptSimilarity", "RankedMemory", "recall"]

PromptSimilarity = Callable[[Episode, Episode], float]
"""Similarity of two episodes' prompts, -1 to 1."""

_POOL = 10


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """A memory that might help.

    Attributes:
        similarity: Of its prompt to the step's, -1 to 1.
        q: Its value where it was used; `Beliefs.q_of_memory`.
    """

    entry: LogEntry
    similarity: float
    q: float


@dataclass(frozen=True, slots=True)
class RankedMemory:
    """A recalled memory; scores are relative to the memories recalled with it."""

    entry: LogEntry
    similarity: float
    q: float
    score: float


def recall(
    candidates: Iterable[MemoryCandidate],
    prompt_similarity: PromptSimilarity,
    config: LearningConfig = DEFAULTS,
) -> list[RankedMemory]:
    """Return the memories that most likely help, best first; none if none is similar enough.

    Args:
        candidates: In any order, each entry once.
        prompt_similarity: Called only for memories that are similar enough.
    """
    passed = [candidate for candidate in candidates if candidate.similarity >= config.gate]
    passed.sort(key=_nearness_key)
    kept = sorted(
        _drop_duplicates(passed[: _POOL * config.candidates], prompt_similarity, config),
        key=_nearness_key,
    )
    kept = kept[: config.candidates]
    similarities = _z_scores([candidate.similarity for candidate in kept])
    values = _z_scores([candidate.q for candidate in kept])
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


def _nearness_key(candidate: MemoryCandidate) -> tuple[float, int]:
    return (-candidate.similarity, -candidate.entry.position)


def _drop_duplicates(
    candidates: Sequence[MemoryCandidate],
    prompt_similarity: PromptSimilarity,
    config: LearningConfig,
) -> list[MemoryCandidate]:
    """Leave out near duplicates of better memories.

    Better has a higher q, then succeeded, then is more similar, then is newer.
    """
    kept: list[MemoryCandidate] = []
    for candidate in sorted(
        candidates,
        key=lambda candidate: (
            -candidate.q,
            not candidate.entry.episode.succeeded,
            *_nearness_key(candidate),
        ),
    ):
        mine = candidate.entry.episode
        digest = mine.digest
        if not any(
            other.entry.episode.digest == digest
            or prompt_similarity(mine, other.entry.episode) > config.duplicate
            for other in kept
        ):
            kept.append(candidate)
    return kept


def _z_scores(values: Sequence[float]) -> list[float]:
    """Standard scores; all 0 where nothing varies."""
    if not values:
        return []
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    # Values that differ by rounding alone don't vary.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]
