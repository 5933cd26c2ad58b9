"""The ranking of recalled memories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.episode import Episode, LogEntry
from prefect_swarm.memory.learning.choice import MemoryCandidate, RankedMemory, recall
from prefect_swarm.memory.learning.reward import DEFAULTS, LearningConfig
from remembered import episode


def candidate(
    position: int, similarity: float, q: float = 0.5, prompt: str = "", *, won: bool = True
) -> MemoryCandidate:
    made = episode(
        f"S{position}",
        prompt=prompt or f"Prompt {position}",
        succeeded=won,
        decision=None if won else "FAIL",
    )
    return MemoryCandidate(LogEntry(position, made), similarity, q)


def no_similarity(_first: Episode, _second: Episode) -> float:
    return 0.0


def positions(recalled: list[RankedMemory]) -> list[int]:
    return [memory.entry.position for memory in recalled]


def test_nothing_is_recalled_where_nothing_is_similar() -> None:
    assert recall([candidate(1, 0.29)], no_similarity) == []


def test_one_memory_alone_has_the_score_zero() -> None:
    assert [memory.score for memory in recall([candidate(1, 0.3)], no_similarity)] == [0.0]


def test_what_helped_outranks_what_is_only_a_bit_more_similar() -> None:
    found = recall(
        [candidate(1, 0.80, 0.2), candidate(2, 0.78, 0.9), candidate(3, 0.4, 0.5)], no_similarity
    )
    assert positions(found) == [2, 1, 3]


def test_where_all_are_worth_the_same_similarity_ranks() -> None:
    found = recall([candidate(1, 0.4), candidate(2, 0.9), candidate(3, 0.6)], no_similarity)
    assert positions(found) == [2, 3, 1]


def test_of_the_same_prompt_the_better_memory_stays() -> None:
    found = recall(
        [candidate(1, 0.9, 0.2, "same"), candidate(2, 0.9, 0.8, "same"), candidate(3, 0.5)],
        no_similarity,
    )
    assert sorted(positions(found)) == [2, 3]


def test_of_nearly_the_same_prompts_the_one_that_succeeded_stays() -> None:
    found = recall([candidate(1, 0.9, won=False), candidate(2, 0.8)], lambda _a, _b: 0.96)
    assert positions(found) == [2]


def test_scores_are_z_scores_weighed_half_and_half() -> None:
    found = recall([candidate(1, 0.5, 0.1), candidate(2, 0.7, 0.9)], no_similarity)
    assert [memory.score for memory in found] == pytest.approx([1.0, -1.0])


CANDIDATES = st.lists(
    st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.sampled_from("abcdefgh"), st.booleans()),
    max_size=30,
)


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_what_is_recalled_is_bounded_similar_distinct_and_ranked(
    drawn: list[tuple[float, float, str, bool]], rng: object
) -> None:
    made = [
        candidate(position, similarity, q, prompt, won=won)
        for position, (similarity, q, prompt, won) in enumerate(drawn, 1)
    ]
    found = recall(made, no_similarity)
    assert len(found) <= DEFAULTS.candidates
    assert all(memory.similarity >= DEFAULTS.gate for memory in found)
    prompts = [memory.entry.episode.prompt for memory in found]
    assert len(set(prompts)) == len(prompts)
    scores = [memory.score for memory in found]
    assert scores == sorted(scores, reverse=True)
    assert bool(found) == any(memory.similarity >= DEFAULTS.gate for memory in made)
    assert recall(made[::-1], no_similarity) == found


@given(CANDIDATES)
def test_with_all_weight_on_q_the_most_helpful_comes_first(
    drawn: list[tuple[float, float, str, bool]],
) -> None:
    made = [
        candidate(position, similarity, q)
        for position, (similarity, q, _, _) in enumerate(drawn, 1)
    ]
    found = recall(made, no_similarity, LearningConfig(q_weight=1.0))
    if found:
        assert found[0].q >= max(memory.q for memory in found) - 1e-8
