"""A run's end is followed back to its beginning."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from prefect_swarm.metrics.clock import RunTime, Stretch, seconds_by_kind
from prefect_swarm.metrics.time_breakdown import Around, explain
from run_times import TimedRun, stretch, timed_runs, turn


def words(stretches: tuple[Stretch, ...]) -> list[tuple[str, str, float]]:
    return [(each.kind, each.step, each.seconds) for each in stretches]


def of(run: TimedRun) -> tuple[Stretch, ...]:
    return explain(run.turns, run.upstream, run.around, run.began_at, run.ended_at)


@given(timed_runs())
def test_each_moment_of_a_run_belongs_to_exactly_one_stretch(run: TimedRun) -> None:
    found = of(run)
    if run.began_at == run.ended_at:
        assert found == ()
        return
    assert (found[0].started_at, found[-1].ended_at) == (run.began_at, run.ended_at)
    assert all(before.ended_at == after.started_at for before, after in pairwise(found))
    assert all(each.seconds > 0 for each in found)


@given(timed_runs())
def test_the_seconds_of_all_kinds_are_the_total(run: TimedRun) -> None:
    spent = RunTime.of(of(run), run.began_at, run.ended_at)
    assert sum(spent.seconds.values()) == pytest.approx(spent.total_s, abs=1e-6)
    assert list(spent.seconds.values()) == sorted(spent.seconds.values(), reverse=True)


@given(timed_runs())
def test_any_part_of_the_total_is_the_seconds_of_its_kinds(run: TimedRun) -> None:
    third = run.ended_at / 3
    within = seconds_by_kind(of(run), third, 2 * third)
    assert sum(within.values()) == pytest.approx(third, abs=1e-6)


@given(timed_runs())
def test_neighbours_differ(run: TimedRun) -> None:
    assert all(
        (a.kind, a.step, a.attempt) != (b.kind, b.step, b.attempt) for a, b in pairwise(of(run))
    )


def test_a_run_of_two_steps_is_its_plan_its_models_its_gates_and_its_answer() -> None:
    turns = {
        "S1": [turn("S1", 3, 7, stretch("model", 3.5, 6), stretch("gate", 6, 7))],
        "S2": [turn("S2", 7, 12, stretch("model", 8, 12))],
    }
    around = Around(
        stretches=(stretch("start", 0, 1), stretch("planning", 1, 3), stretch("answer", 13, 15))
    )
    assert words(explain(turns, {"S2": ["S1"]}, around, 0, 15)) == [
        ("start", "", 1),
        ("planning", "", 2),
        ("prefect", "S1", 0.5),
        ("model", "S1", 2.5),
        ("gate", "S1", 1),
        ("prefect", "S2", 1),
        ("model", "S2", 4),
        ("prefect", "", 1),
        ("answer", "", 2),
    ]


def test_of_two_steps_that_a_step_needs_the_last_to_end_counts() -> None:
    turns = {
        "S1": [turn("S1", 0, 9, stretch("model", 0, 9))],
        "S2": [turn("S2", 0, 4, stretch("model", 0, 4))],
        "S3": [turn("S3", 9, 10, stretch("model", 9, 10))],
    }
    found = explain(turns, {"S3": ["S1", "S2"]}, Around(), 0, 10)
    assert RunTime.of(found, 0, 10).path == ("S1", "S3")


def test_a_step_that_never_ran_is_looked_through() -> None:
    turns = {
        "S1": [turn("S1", 0, 5, stretch("model", 0, 5))],
        "S2": [],
        "S3": [turn("S3", 5, 8, stretch("model", 5, 8))],
    }
    found = explain(turns, {"S2": ["S1"], "S3": ["S2"]}, Around(), 0, 8)
    assert words(found) == [("model", "S1", 5), ("model", "S3", 3)]


def test_a_second_attempt_had_waited_for_the_first_and_its_delay() -> None:
    turns = {
        "S1": [
            turn("S1", 0, 4, stretch("model", 0, 4)),
            turn("S1", 4, 9, stretch("delay", 4, 6), stretch("model", 6, 9), attempt=2),
        ]
    }
    found = explain(turns, {}, Around(), 0, 9)
    assert words(found) == [("model", "S1", 4), ("delay", "S1", 2), ("model", "S1", 3)]
    assert [each.attempt for each in found] == [1, 2, 2]


def test_a_step_that_could_begin_and_did_not_had_waited_for_a_slot() -> None:
    turns = {"S1": [turn("S1", 1, 6, stretch("model", 4, 6), launched_at=4)]}
    assert words(explain(turns, {}, Around(), 0, 6)) == [
        ("prefect", "S1", 1),
        ("slot", "S1", 3),
        ("model", "S1", 2),
    ]


def test_a_wait_within_a_models_time_is_the_wait() -> None:
    inner = (stretch("model", 0, 10), stretch("provider", 2, 5), stretch("tool", 7, 8))
    assert words(explain({"S1": [turn("S1", 0, 10, *inner)]}, {}, Around(), 0, 10)) == [
        ("model", "S1", 2),
        ("provider", "S1", 3),
        ("model", "S1", 2),
        ("tool", "S1", 1),
        ("model", "S1", 2),
    ]


def test_a_question_about_a_step_is_waited_for_by_that_step_alone() -> None:
    turns = {
        "S1": [turn("S1", 0, 4, stretch("model", 0, 4))],
        "S2": [turn("S2", 6, 9, stretch("model", 6, 9))],
    }
    asked = stretch("person", 1, 6, step="S2")
    found = explain(turns, {"S2": ["S1"]}, Around(stretches=(asked,)), 0, 9)
    assert words(found) == [("model", "S1", 4), ("person", "S2", 2), ("model", "S2", 3)]


def test_a_resumed_run_says_what_was_lost_and_when_it_did_not_run() -> None:
    turns = {
        "S1": [turn("S1", 1, 4, stretch("model", 1, 4))],
        "S2": [turn("S2", 22, 25, stretch("model", 22, 25))],
    }
    around = Around(
        gaps=(stretch("stopped", 7, 20),),
        stretches=(stretch("start", 0, 1), stretch("start", 20, 21)),
    )
    assert words(explain(turns, {"S2": ["S1"]}, around, 0, 25)) == [
        ("start", "", 1),
        ("model", "S1", 3),
        ("earlier", "", 3),
        ("stopped", "", 13),
        ("start", "", 1),
        ("prefect", "S2", 1),
        ("model", "S2", 3),
    ]


def test_what_was_asked_ahead_of_the_plan_is_planning_until_it_was_asked() -> None:
    turns = {"S1": [turn("S1", 2, 9, stretch("model", 2, 5), launched_at=6)]}
    around = Around(stretches=(stretch("planning", 0, 6),))
    assert words(explain(turns, {}, around, 0, 9)) == [
        ("planning", "", 2),
        ("model", "S1", 3),
        ("planning", "", 1),
        ("prefect", "S1", 3),
    ]


def test_a_run_in_which_nothing_ran_is_what_lay_around() -> None:
    around = Around(stretches=(stretch("planning", 1, 3),))
    assert words(explain({}, {}, around, 0, 3)) == [("prefect", "", 1), ("planning", "", 2)]


def later_turn(s2_until: float, needs: list[str]) -> list[tuple[str, str, float]]:
    """S1 until 2 and S2; a turn from 2 to 5 assigns S3, which takes until 9."""
    since = max(5, s2_until) if needs else 5
    turns = {
        "S1": [turn("S1", 0, 2, stretch("model", 0, 2))],
        "S2": [turn("S2", 0, s2_until, stretch("model", 0, s2_until))],
        "S3": [turn("S3", since, 9, stretch("model", since, 9))],
    }
    around = Around(directing=(stretch("orchestrator", 2, 5),), directed_at={"S3": 2})
    upstream = {"S1": [], "S2": [], "S3": needs}
    return words(explain(turns, upstream, around, 0, 9))


def test_a_step_of_a_later_turn_waited_for_the_orchestrator_and_for_what_it_had_seen() -> None:
    assert later_turn(8, []) == [("model", "S1", 2), ("orchestrator", "", 3), ("model", "S3", 4)]


def test_a_turn_costs_nothing_while_a_step_goes_on_that_is_needed_anyway() -> None:
    assert later_turn(6, ["S2"]) == [("model", "S2", 6), ("model", "S3", 3)]


def test_a_turn_that_is_not_over_when_the_step_is_costs_the_rest() -> None:
    assert later_turn(4, ["S2"]) == [
        ("model", "S2", 4),
        ("orchestrator", "", 1),
        ("model", "S3", 4),
    ]


def test_a_wait_for_a_slot_during_a_turn_is_no_wait_for_the_orchestrator() -> None:
    turns = {"S1": [turn("S1", 0, 9, stretch("model", 4, 9), launched_at=4)]}
    around = Around(directing=(stretch("orchestrator", 1, 3),))
    found = words(explain(turns, {"S1": []}, around, 0, 9))
    assert found == [("slot", "S1", 4), ("model", "S1", 5)]


def test_the_turn_that_ends_the_run_follows_the_last_step() -> None:
    turns = {"S1": [turn("S1", 0, 4, stretch("model", 0, 4))]}
    around = Around(directing=(stretch("answer", 4, 7),))
    found = words(explain(turns, {"S1": []}, around, 0, 7))
    assert found == [("model", "S1", 4), ("answer", "", 3)]
