"""A persona's record: its attempts, and what was expected of it after each of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ....memory.episode import Episode, LogEntry
from ....memory.learning.beliefs import Beliefs
from ....memory.learning.posterior import Posterior, Tally

__all__ = ["Expectation", "Period", "PersonaRecord", "Tried", "periods", "record_of"]

_DEVIATIONS = 1.645
"""Nine of ten rates lie within so many standard deviations."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A success rate that is expected, 0 to 1, and the bounds of the likeliest nine tenths."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, tally: Tally) -> Expectation:
        """Return what some outcomes let expect, from an even prior; normal approximation."""
        rate = Posterior(tally.rate, tally.won + tally.lost + 2)
        spread = _DEVIATIONS * math.sqrt(rate.variance)
        return cls(rate.mean, max(0.0, rate.mean - spread), min(1.0, rate.mean + spread))


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt of the persona, and what was expected of it right after."""

    episode: Episode
    expected: Expectation


@dataclass(frozen=True, slots=True)
class Period:
    """Some attempts in a row.

    Attributes:
        until: When the last of them ended, in seconds since the Unix epoch.
        expected: What was expected after it.
    """

    until: float
    attempts: int
    succeeded: int
    expected: Expectation


@dataclass(frozen=True, slots=True)
class PersonaRecord:
    """All of a persona's attempts, oldest first, and the beliefs that all of the log has led to."""

    tried: tuple[Tried, ...]
    beliefs: Beliefs

    @property
    def succeeded(self) -> int:
        """How many of the attempts succeeded."""
        return sum(each.episode.succeeded for each in self.tried)

    def by(self, name: Callable[[Episode], str]) -> list[tuple[str, int, int]]:
        """Count attempts, and those that succeeded, by something they have; the most first."""
        ordered = sorted((each.episode for each in self.tried), key=name)
        found = [
            (key, len(group), sum(episode.succeeded for episode in group))
            for key, group in ((key, [*some]) for key, some in groupby(ordered, key=name))
        ]
        return sorted(found, key=lambda counted: (-counted[1], counted[0]))


def record_of(entries: Iterable[LogEntry], namespace: str, persona: str) -> PersonaRecord:
    """Go through a log and note what was expected of a persona after each of its attempts.

    Args:
        entries: The log's, in its order; those of other namespaces are passed over.
        namespace: Whose memory it is.
        persona: The persona's name.
    """
    beliefs, tried = Beliefs(namespace=namespace), list[Tried]()
    for entry in entries:
        beliefs.learn(entry)
        episode = entry.episode
        if (episode.namespace, episode.persona) == (namespace, persona):
            tried.append(Tried(episode, Expectation.of(beliefs.persona(persona))))
    return PersonaRecord(tuple(tried), beliefs)


def periods(tried: Sequence[Tried], most: int) -> list[Period]:
    """Put attempts together to at most so many periods of as many attempts each, but the first."""
    size = max(1, -(-len(tried) // most))
    first = len(tried) % size or size
    cuts = [0, *range(first, len(tried) + 1, size)] if tried else []
    return [_period(tried[start:end]) for start, end in pairwise(cuts)]


def _period(some: Sequence[Tried]) -> Period:
    last = some[-1]
    good = sum(each.episode.succeeded for each in some)
    return Period(last.episode.ended_at, len(some), good, last.expected)
