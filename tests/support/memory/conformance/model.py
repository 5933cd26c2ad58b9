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
        there = {(one.namespace, one.key) for one in self.episodes}
        before = len(self.episodes)
        for one in batch:
            if (one.namespace, one.key) not in there:
                there.add((one.namespace, one.key))
                self.episodes.append(one)
        return len(self.episodes) - before

    def select(self, namespace: str, which: Selection) -> list[Episode]:
        """Say what is meant."""
        return [
            one for one in self.episodes if one.namespace == namespace and _is_meant(one, which)
        ]

    def forget(self, namespace: str, which: Selection) -> int:
        """Remove what is meant, and embeddings that nothing else needs."""
        gone = self.select(namespace, which)
        self.episodes = [one for one in self.episodes if one not in gone]
        self.vectors &= {one.digest for one in self.episodes}
        self.forgotten += bool(gone)
        return len(gone)

    def keep(self, digests: set[str]) -> None:
        """Keep embeddings of what is there."""
        self.vectors |= digests & {one.digest for one in self.episodes}


def _is_meant(one: Episode, which: Selection) -> bool:
    texts = (one.prompt, one.objective, one.error, one.excerpt)
    return (
        which.run in (None, one.run)
        and which.step in (None, one.step)
        and which.persona in (None, one.persona)
        and (which.before is None or one.ended_at < which.before)
        and (
            which.containing is None
            or any(which.containing.casefold() in text.casefold() for text in texts)
        )
    )
