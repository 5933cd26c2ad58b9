"""Which memories a step's advice is based on, and what each was used for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...result import Recalled, Use
from ...task_ir import Tier
from ..episode import EpisodeKey, LogEntry
from ..learning.config import DEFAULTS, LearningConfig
from ..learning.durations import is_timed

__all__ = ["attribute_memories", "duration_evidence"]

_SHOWN = 5


def attribute_memories(
    similar: Sequence[tuple[LogEntry, float]], by_use: Mapping[Use, Collection[EpisodeKey]]
) -> tuple[Recalled, ...]:
    """Return the similar attempts that were used, each once, in their order."""

    def uses_of(key: EpisodeKey) -> tuple[Use, ...]:
        return tuple(use for use, keys in by_use.items() if key in keys)

    return tuple(
        Recalled(
            run=entry.episode.run,
            step=entry.episode.step,
            attempt=entry.episode.attempt,
            similarity=round(similarity, 3),
            uses=uses,
            why=f"{', '.join(uses)}: {_describe(entry)}",
        )
        for entry, similarity in similar
        if (uses := uses_of(entry.episode.key))
    )


def duration_evidence(
    similar: Sequence[tuple[LogEntry, float]],
    task_type: str,
    persona: str,
    tier: Tier,
    config: LearningConfig = DEFAULTS,
) -> tuple[EpisodeKey, ...]:
    """Return the related attempts of that task type and tier, those by that persona first.

    The expected duration is mainly based on them, and on less similar attempts of that type, too.
    """
    found = [
        entry.episode
        for entry, similarity in similar
        if similarity >= config.related and is_timed(entry.episode.category)
    ]
    like = [episode for episode in found if (episode.task_type, episode.tier) == (task_type, tier)]
    # Sorting is stable: the most similar of each come first.
    like.sort(key=lambda episode: episode.persona != persona)
    return tuple(episode.key for episode in like[:_SHOWN])


def _describe(entry: LogEntry) -> str:
    episode = entry.episode
    how = "succeeded" if episode.succeeded else f"failed by {episode.category}"
    return f"{episode.persona} {how} on {episode.tier} in {episode.duration_s:.1f} s"
