"""A persona's record: what was expected of it after each attempt, and in which periods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.episode import LogEntry
from prefect_swarm.memory.learning.beliefs import Tally
from prefect_swarm.report.memory_pages import Expectation, PersonaRecord, Tried, periods, record_of
from samples import episode


def log_of(*ends: bool, persona: str = "judge", start: int = 1) -> list[LogEntry]:
    return [
        LogEntry(number, episode(number, persona=persona, succeeded=good))
        for number, good in enumerate(ends, start)
    ]


def test_what_is_expected_rises_with_successes_and_its_bounds_come_closer() -> None:
    record = record_of(log_of(*[True] * 20), "default", "judge")
    means = [each.expected.mean for each in record.tried]
    widths = [each.expected.high - each.expected.low for each in record.tried]
    assert means == sorted(means)
    assert widths == sorted(widths, reverse=True)
    assert record.succeeded == 20


def test_attempts_of_others_and_of_other_namespaces_are_not_its_own() -> None:
    others = log_of(False, False, persona="editor", start=10)
    elsewhere = [LogEntry(20, episode(20, persona="judge", namespace="ours"))]
    record = record_of([*log_of(True), *others, *elsewhere], "default", "judge")
    assert [each.episode.run for each in record.tried] == ["run-1"]


def test_attempts_are_counted_by_what_they_have() -> None:
    record = record_of(log_of(True, False, True), "default", "judge")
    assert record.by(lambda found: found.tier) == [("worker", 3, 2)]
    assert record.by(lambda found: str(found.succeeded)) == [("True", 2, 2), ("False", 1, 0)]


@given(st.lists(st.booleans(), max_size=80), st.integers(1, 15))
def test_periods_have_all_attempts_in_their_order(ends: list[bool], most: int) -> None:
    record = record_of(log_of(*ends), "default", "judge")
    found = periods(record.tried, most)
    assert len(found) <= most
    assert sum(period.attempts for period in found) == len(ends)
    assert sum(period.succeeded for period in found) == sum(ends)
    assert [period.until for period in found] == sorted(period.until for period in found)
    assert len({period.attempts for period in found[1:]}) <= 1
    if found:
        assert found[-1].expected == record.tried[-1].expected


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_what_is_expected_lies_between_its_bounds(won: float, lost: float) -> None:
    expected = Expectation.of(Tally(won, lost))
    assert 0 <= expected.low <= expected.mean <= expected.high <= 1


def test_a_persona_without_attempts_has_no_periods() -> None:
    record = record_of([], "default", "judge")
    assert isinstance(record, PersonaRecord)
    assert periods(record.tried, 12) == list[Tried]()
