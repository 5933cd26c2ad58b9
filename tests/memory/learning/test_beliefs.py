"""Beliefs are a fold over the log."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from learnt import fold
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, EpisodeKey, LogEntry
from prefect_swarm.memory.learning.beliefs import Beliefs
from prefect_swarm.memory.learning.reward import LearningConfig
from remembered import episode, logs

PLAIN = LearningConfig(shaping=0.0)


def learn_from(*episodes: Episode, config: LearningConfig = PLAIN) -> Beliefs:
    return fold(map(LogEntry, range(1, len(episodes) + 1), episodes), config=config)


def almost_equal(first: Any, second: Any) -> bool:
    """Equal except for rounding, in whatever both hold."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            almost_equal(first[key], second[key]) for key in first
        )
    if isinstance(first, list):
        return len(first) == len(second) and all(map(almost_equal, first, second))
    return first == (pytest.approx(second, abs=1e-9) if isinstance(first, float) else second)


@given(logs(), st.integers(0, 40), st.integers(0, 5))
def test_folding_in_pieces_gives_what_folding_whole_gives(
    entries: list[LogEntry], at: int, again: int
) -> None:
    first = fold(entries[:at])
    then = Beliefs.model_validate_json(first.model_dump_json())
    for entry in entries[max(0, at - again) :]:
        then.learn(entry)
    assert then == fold(entries)


@given(logs())
def test_other_namespaces_change_nothing_but_the_position(entries: list[LogEntry]) -> None:
    own = [entry for entry in entries if entry.episode.namespace == "default"]
    whole, alone = fold(entries), fold(own)
    assert whole.position == entries[-1].position
    assert whole.model_dump(exclude={"position"}) == alone.model_dump(exclude={"position"})


@given(logs())
def test_the_counts_are_of_all_attempts_that_say_something_of_who_tried(
    entries: list[LogEntry],
) -> None:
    beliefs = fold(entries, config=LearningConfig(half_life=1e12))
    own = [entry.episode for entry in entries if entry.episode.namespace == "default"]
    silent = {Category.UPSTREAM, Category.INFRASTRUCTURE}
    counted = [attempt for attempt in own if attempt.succeeded or attempt.category not in silent]
    won = sum(attempt.succeeded for attempt in counted)
    assert beliefs.won == pytest.approx(won)
    assert beliefs.won + beliefs.lost == pytest.approx(len(counted))
    tallies = [beliefs.persona(name) for name in ("A", "B")]
    assert sum(tally.won for tally in tallies) == pytest.approx(won)
    assert sum(tally.won + tally.lost for tally in tallies) == pytest.approx(len(counted))


def test_q_moves_a_tenth_of_the_way_to_the_reward() -> None:
    beliefs = learn_from(episode(), episode("S2"))
    assert beliefs.personas["chat/text"]["Writer"].q == pytest.approx(0.5 + 0.05 + 0.045)
    assert beliefs.persona("Writer").won == pytest.approx(1 + 0.5 ** (1 / 200))


def test_only_memories_that_were_used_are_valued() -> None:
    used, other = EpisodeKey("run-0", "S1", 1), EpisodeKey("run-0", "S2", 1)
    beliefs = learn_from(episode(used=(used,)))
    assert beliefs.q_of_memory(used) == pytest.approx(0.5 + 0.3 * 0.5)
    assert beliefs.q_of_memory(other) == 0.5


def test_what_says_nothing_of_the_persona_is_not_learned_from() -> None:
    beliefs = learn_from(episode(category=Category.INFRASTRUCTURE))
    assert beliefs.personas == {}
    assert beliefs.expected_rate() == 0.5


def test_shaping_favours_what_is_new_at_first() -> None:
    shaped = learn_from(episode(category=Category.LOGIC), config=LearningConfig())
    plain = learn_from(episode(category=Category.LOGIC))
    assert shaped.personas["chat/text"]["Writer"].q > plain.personas["chat/text"]["Writer"].q


def test_a_duration_is_drawn_to_what_is_known_of_similar_ones() -> None:
    slow = [episode(f"S{n}", persona="Slow", duration_s=100.0) for n in range(30)]
    quick = [episode(f"S{n}", persona="Quick", duration_s=1.0) for n in range(30, 60)]
    beliefs = learn_from(*slow, *quick)
    known = beliefs.duration("chat/text", "Slow", "worker")
    assert known is not None
    assert 80 < known.seconds <= 100
    assert known.samples == 30
    other = beliefs.duration("doc/text", "Nobody", "worker")
    assert other is not None
    assert 5 < other.seconds < 20
    assert other.samples == 0
    assert beliefs.duration("chat/text", "Slow", "architect") is None


@given(st.lists(st.floats(0.01, 1000), min_size=1, max_size=20))
def test_a_duration_lies_among_those_that_were_seen(seconds: list[float]) -> None:
    beliefs = learn_from(
        *(episode(f"S{n}", duration_s=duration) for n, duration in enumerate(seconds))
    )
    found = beliefs.duration("chat/text", "Writer", "worker")
    assert found is not None
    assert min(seconds) * 0.999 <= found.seconds <= max(seconds) * 1.001
