"""Which memories a step's advice rests on, and what each was used for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...result import Recalled, Use
from ...task_ir import Tier
from ..episode import Entry, EpisodeKey
from ..learning.config import DEFAULTS, LearningConfig
from ..learning.durations import is_timed

__all__ = ["recollection", "timed"]

_SHOWN = 5


def recollection(
    similar: Sequence[tuple[Entry, float]], by_use: Mapping[Use, Collection[EpisodeKey]]
) -> tuple[Recalled, ...]:
    """Return what was used of the similar attempts, each once, in their order."""

    def uses_of(key: EpisodeKey) -> tuple[Use, ...]:
        return tuple(use for use, keys in by_use.items() if key in keys)

    return tuple(
        Recalled(
            run=entry.episode.run,
            step=entry.episode.step,
            attempt=entry.episode.attempt,
            similarity=round(similarity, 3),
            uses=uses,
            why=f"{', '.join(uses)}: {_ended(entry)}",
        )
        for entry, similarity in similar
        if (uses := uses_of(entry.episode.key))
    )


def timed(
    similar: Sequence[tuple[Entry, float]],
    task_type: str,
    persona: str,
    tier: Tier,
    config: LearningConfig = DEFAULTS,
) -> tuple[EpisodeKey, ...]:
    """Return the related attempts at such work on that tier, those by that persona first.

    What such a step is expected to take rests on them; on others of its kind, too, less like it.
    """
    found = [
        entry.episode
        for entry, similarity in similar
        if similarity >= config.related and is_timed(entry.episode.category)
    ]
    like = [one for one in found if (one.task_type, one.tier) == (task_type, tier)]
    # Sorting is stable: the most similar of each come first.
    like.sort(key=lambda one: one.persona != persona)
    return tuple(one.key for one in like[:_SHOWN])


def _ended(entry: Entry) -> str:
    episode = entry.episode
    how = "succeeded" if episode.succeeded else f"failed by {episode.category}"
    return f"{episode.persona} {how} on {episode.tier} in {episode.duration_s:.1f} s"
