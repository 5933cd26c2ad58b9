"""The events of a run tell of the time beside its steps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.metrics.clock import Stretch
from prefect_swarm.metrics.time_breakdown import around_steps
from prefect_swarm.store.events import (
    AnsweredEvent,
    AskedEvent,
    BeganEvent,
    DirectingEvent,
    ExploringEvent,
    FinishedEvent,
    PlannedEvent,
    PlannedStep,
    PlanningEvent,
    RunEvent,
    TurnEvent,
    WaitEvent,
)
from run_events import run_events


def words(stretches: tuple[Stretch, ...]) -> list[tuple[str, float, float]]:
    return [(each.kind, each.started_at, each.ended_at) for each in stretches]


def found(*events: RunEvent, until: float = 100) -> list[tuple[str, float, float]]:
    return words(around_steps(events, 0, until).stretches)


def gaps(*events: RunEvent) -> list[tuple[str, float, float]]:
    return words(around_steps(events, 0, 100).gaps)


def test_planning_goes_from_the_first_look_around_to_the_plan() -> None:
    assert found(
        BeganEvent(at=0.1), ExploringEvent(at=1), PlanningEvent(at=4), PlannedEvent(at=7)
    ) == [("start", 0, 1), ("planning", 1, 7)]


def test_a_plan_that_was_given_is_begun_with() -> None:
    assert found(BeganEvent(at=0.1), PlannedEvent(at=2)) == [("start", 0, 2)]


def test_a_plan_that_takes_anothers_place_is_no_second_start() -> None:
    assert found(PlannedEvent(at=2), PlannedEvent(at=9)) == [("start", 0, 2)]


def test_waits_of_the_plan_are_heard_and_those_of_steps_are_not() -> None:
    assert found(
        WaitEvent(at=1),
        WaitEvent(at=2, step="S1"),
        WaitEvent(at=3, kind="resumed"),
        WaitEvent(at=4, kind="resumed", step="S1"),
    ) == [("provider", 1, 3)]


def test_waits_at_once_are_a_wait_until_the_last_is_over() -> None:
    ends = [WaitEvent(at=at, kind="resumed") for at in (3, 5)]
    assert found(WaitEvent(at=1), WaitEvent(at=2), *ends) == [("provider", 1, 5)]


def test_a_person_is_waited_for_until_they_decided_not_until_that_was_read() -> None:
    asked = AskedEvent(at=1, question="plan")
    assert found(asked, AnsweredEvent(at=9, question="plan", answered_at=6)) == [("person", 1, 6)]


def test_a_question_without_an_answer_is_open_to_the_end() -> None:
    assert found(AskedEvent(at=1, question="plan"), until=20) == [("person", 1, 20)]


def test_between_two_processes_a_run_does_not_run() -> None:
    assert gaps(BeganEvent(at=0.1), BeganEvent(at=30, resumed=True, left_at=12)) == [
        ("stopped", 12, 30)
    ]


def test_a_suspended_run_begins_with_waiting_for_a_person() -> None:
    assert gaps(
        AskedEvent(at=5, question="S1", step="S1"),
        FinishedEvent(at=6, status="waiting"),
        BeganEvent(at=30, resumed=True, left_at=6),
        AnsweredEvent(at=31, question="S1", answered_at=20),
    ) == [("person", 6, 20), ("stopped", 20, 30)]


def test_a_decision_during_suspension_is_not_waited_for() -> None:
    assert gaps(
        FinishedEvent(at=6, status="waiting"),
        BeganEvent(at=30, resumed=True, left_at=6),
        AnsweredEvent(at=31, question="S1", answered_at=5),
    ) == [("stopped", 6, 30)]


def test_a_file_without_the_end_of_the_process_before_has_no_gap() -> None:
    assert gaps(BeganEvent(at=30, resumed=True)) == []


@given(st.lists(run_events), st.floats(0, 10))
def test_any_events_tell_of_stretches_that_end_after_they_began(
    events: list[RunEvent], until: float
) -> None:
    around = around_steps(events, 0, until)
    assert all(each.seconds > 0 for each in (*around.gaps, *around.stretches))


def directed(*events: RunEvent) -> list[tuple[str, float, float]]:
    return words(around_steps(events, 0, 100).directing)


ASKED_FOR_TURN = DirectingEvent(at=10, number_of_turn=2, cause="seen")


def test_a_turn_takes_from_the_question_to_what_follows_from_it() -> None:
    events = (ASKED_FOR_TURN, TurnEvent(at=14, steps=(PlannedStep(id="S3", agent="Ann"),)))
    around = around_steps(events, 0, 100)
    assert words(around.directing) == [("orchestrator", 10, 14)]
    assert around.directed_at == {"S3": 10}
    assert around.stretches == ()


def test_the_turn_that_ends_the_run_is_the_answer() -> None:
    assert directed(ASKED_FOR_TURN, TurnEvent(at=14, finished=True)) == [("answer", 10, 14)]


def test_a_turn_that_a_person_has_to_approve_takes_until_they_are_asked() -> None:
    events = (
        ASKED_FOR_TURN,
        AskedEvent(at=13, question="turn.2"),
        AnsweredEvent(at=30, question="turn.2", answered_at=30),
        TurnEvent(at=31, steps=(PlannedStep(id="S3", agent="Ann"),)),
    )
    around = around_steps(events, 0, 100)
    assert words(around.directing) == [("orchestrator", 10, 13)]
    assert words(around.stretches) == [("person", 13, 30)]
    assert around.directed_at == {"S3": 10}


def test_another_question_meanwhile_does_not_end_a_turn() -> None:
    events = (ASKED_FOR_TURN, AskedEvent(at=11, question="S1", step="S1"), TurnEvent(at=14))
    assert directed(*events) == [("orchestrator", 10, 14)]


def test_a_turn_that_was_asked_when_the_process_ended_is_asked_again() -> None:
    again = BeganEvent(at=30, resumed=True, left_at=12)
    second = DirectingEvent(at=31, number_of_turn=2)
    assert directed(ASKED_FOR_TURN, again, second, TurnEvent(at=33)) == [("orchestrator", 31, 33)]


def test_a_turn_that_came_to_nothing_is_asked_to_the_end() -> None:
    assert directed(ASKED_FOR_TURN) == [("orchestrator", 10, 100)]
