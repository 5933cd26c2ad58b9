"""A log as a list, which any real one has to agree with."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from prefect_swarm.memory.episode import Episode, Selection
from samples import episodes

__all__ = ["Append", "Forget", "Keep", "Model", "acts"]


@dataclass(frozen=True)
class Append:
    """Append a batch."""

    batch: list[Episode]


@dataclass(frozen=True)
class Forget:
    """Forget what is meant."""

    namespace: str
    which: Selection


@dataclass(frozen=True)
class Keep:
    """Keep embeddings of these texts."""

    prompts: list[str]


_namespaces = st.sampled_from(["default", "ours", "théirs"])
_selections = st.builds(
    Selection,
    run=st.none() | st.sampled_from(["a", "A", "b\x00"]),
    step=st.none() | st.sampled_from(["S1", "S2"]),
    persona=st.none() | st.just("tester"),
    before=st.none() | st.just(0.0),
    containing=st.none() | st.text(min_size=1, max_size=1),
    everything=st.booleans(),
).filter(lambda which: which != Selection())
acts = st.lists(
    st.lists(episodes, max_size=5).map(Append)
    | st.builds(Forget, _namespaces, _selections)
    | st.lists(st.text(max_size=3), max_size=3).map(Keep),
    max_size=8,
)
"""Anything that may be done to a log."""


@dataclass
class Model:
    """What a log holds."""

    episodes: list[Episode] = field(default_factory=list[Episode])
    vectors: set[str] = field(default_factory=set[str])
    forgotten: int = 0

    def append(self, batch: list[Episode]) -> int:
        """Add what is new."""
        known = {(episode.namespace, episode.key) for episode in self.episodes}
        before = len(self.episodes)
        for episode in batch:
            if (episode.namespace, episode.key) not in known:
                known.add((episode.namespace, episode.key))
                self.episodes.append(episode)
        return len(self.episodes) - before

    def select(self, namespace: str, which: Selection) -> list[Episode]:
        """Say what is meant."""
        return [
            episode
            for episode in self.episodes
            if episode.namespace == namespace and _matches(episode, which)
        ]

    def forget(self, namespace: str, which: Selection) -> int:
        """Remove what is meant, and embeddings that nothing else needs."""
        gone = self.select(namespace, which)
        self.episodes = [episode for episode in self.episodes if episode not in gone]
        self.vectors &= {episode.digest for episode in self.episodes}
        self.forgotten += bool(gone)
        return len(gone)

    def keep(self, digests: set[str]) -> None:
        """Keep embeddings of what is there."""
        self.vectors |= digests & {episode.digest for episode in self.episodes}


def _matches(episode: Episode, which: Selection) -> bool:
    texts = (episode.prompt, episode.objective, episode.error, episode.excerpt)
    return (
        which.run in (None, episode.run)
        and which.step in (None, episode.step)
        and which.persona in (None, episode.persona)
        and (which.before is None or episode.ended_at < which.before)
        and (
            which.containing is None
            or any(which.containing.casefold() in text.casefold() for text in texts)
        )
    )
