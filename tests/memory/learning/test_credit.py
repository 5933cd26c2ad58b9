"""Who is blamed for a step that fails on what it was given."""

from typing import Any

import pytest
from hypothesis import given
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, EpisodeKey, LogEntry
from prefect_swarm.memory.learning.credit import Credit, Trace, credit
from remembered import episode, gates, logs

LOGIC = Category.LOGIC


def credits_of(*episodes: Episode) -> dict[str, Credit]:
    found = credit([Trace.from_episode(attempt) for attempt in episodes])
    return {f"{key.step}.{key.attempt}": worth for key, worth in found.items()}


def failed_attempt(step: str, attempt: int = 1, **given: Any) -> Episode:
    return episode(step, attempt, **{"category": LOGIC, "upstream": ("S1",), **given})


def test_a_run_without_failures_changes_nothing() -> None:
    assert credits_of(episode("S1"), episode("S2", upstream=("S1",))) == {}


def test_an_input_that_was_no_good_is_its_makers_fault() -> None:
    found = credits_of(episode("S1"), failed_attempt("S2", category=Category.UPSTREAM))
    assert found["S2.1"].success is None
    assert found["S1.1"].success == pytest.approx(0.4)
    assert found["S1.1"].reward == pytest.approx(0.4 * 1.0 + 0.6 * -0.5)
    assert found["S1.1"].reason == "S2 failed on it: its input was no good"


def test_what_works_alone_but_not_together_is_the_inputs_fault() -> None:
    together = gates(unit="passed", integration="failed")
    found = credits_of(episode("S1"), failed_attempt("S2", category=Category.CODE, gates=together))
    assert found["S2.1"].success is None
    assert found["S1.1"].success is not None


def test_what_fails_its_own_tests_too_is_its_own_fault() -> None:
    both = gates(unit="failed", integration="failed")
    assert credits_of(episode("S1"), failed_attempt("S2", category=Category.CODE, gates=both)) == {}


def test_a_wrong_result_whoever_tries_is_the_inputs_fault() -> None:
    found = credits_of(
        episode("S1"),
        failed_attempt("S2", 1, decision="ESCALATE"),
        failed_attempt("S2", 2, tier="coder"),
    )
    assert {name for name, worth in found.items() if worth.success is None} == {"S2.1", "S2.2"}
    assert found["S1.1"].reason == "S2 failed on it: all 2 who tried got a wrong result"


@pytest.mark.parametrize(
    "attempts",
    [
        [failed_attempt("S2", 1, decision="RETRY"), failed_attempt("S2", 2)],
        [
            failed_attempt("S2", 1, decision="ESCALATE"),
            failed_attempt("S2", 2, tier="coder", decision="RETRY"),
        ],
        [
            failed_attempt("S2", 1, decision="ESCALATE"),
            failed_attempt("S2", 2, tier="coder", category=Category.CODE),
        ],
        [
            failed_attempt("S2", 1, decision="ESCALATE"),
            failed_attempt("S2", 2, tier="coder", decision="RETRY"),
            episode("S2", 3, tier="coder", upstream=("S1",)),
        ],
    ],
    ids=["one who tried", "still tried", "different failures", "succeeded in the end"],
)
def test_without_a_clear_sign_whoever_failed_is_at_fault(attempts: list[Episode]) -> None:
    assert credits_of(episode("S1"), *attempts) == {}


def test_a_step_that_reads_nothing_has_nobody_to_blame() -> None:
    assert credits_of(failed_attempt("S2", category=Category.UPSTREAM, upstream=())) == {}


def test_a_step_that_failed_itself_has_paid_already() -> None:
    upstream = failed_attempt("S2", category=Category.UPSTREAM)
    assert credits_of(failed_attempt("S1", category=Category.CODE, upstream=()), upstream) == {}


def test_only_the_attempt_whose_output_was_read_is_blamed() -> None:
    first = episode("S1", 1, category=LOGIC, decision="RETRY")
    found = credits_of(first, episode("S1", 2), failed_attempt("S2", category=Category.UPSTREAM))
    assert set(found) == {"S1.2", "S2.1"}


def test_blame_is_shared_and_fades_with_distance() -> None:
    found = credits_of(
        episode("S1"),
        episode("S2"),
        episode("S3", upstream=("S1",)),
        failed_attempt("S4", category=Category.UPSTREAM, upstream=("S2", "S3")),
    )
    assert found["S2.1"].success == found["S3.1"].success == pytest.approx(0.7)
    assert found["S1.1"].success == pytest.approx(1 - 0.3 * 0.6)


@given(logs())
def test_only_accepted_attempts_are_blamed_and_only_failed_ones_excused(
    entries: list[LogEntry],
) -> None:
    run = [entry.episode for entry in entries if entry.episode.run == "run-0"]
    ended: dict[EpisodeKey, Episode] = {attempt.key: attempt for attempt in run}
    for key, found in credit([Trace.from_episode(attempt) for attempt in run]).items():
        if found.success is None:
            assert not ended[key].succeeded
            assert found.reward is None
        else:
            assert ended[key].succeeded
            assert 0 <= found.success < 1
            assert found.reward is not None
            assert -0.5 <= found.reward <= ended[key].reward
        assert found.reason
