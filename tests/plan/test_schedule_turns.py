"""The schedule and the orchestrator's turns: when it has one, and what follows from it."""

from __future__ import annotations

from prefect_swarm.plan.compile import CompiledStep
from prefect_swarm.plan.schedule import ConcurrencyLimits, Schedule
from prefect_swarm.plan.schedule_events import (
    Approved,
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    Edited,
    Finish,
    Launch,
    Messaged,
    PlanExtended,
    Replace,
    Skip,
    TakeTurn,
    Wait,
)


def task(name: str, *upstream: str, optional: bool = False) -> CompiledStep:
    return CompiledStep(name, upstream=upstream, optional=optional)


def directed(
    *steps: CompiledStep, look_after: tuple[str, ...] = (), at_once: int = 9
) -> tuple[Schedule, list[Command]]:
    """Return a schedule whose plan the orchestrator may add to."""
    schedule = Schedule(ConcurrencyLimits(at_once))
    return schedule, schedule.advance(PlanExtended(steps, look_after=frozenset(look_after)))


def done(step: str) -> AttemptFinished:
    return AttemptFinished(step, "succeeded")


def launch(step: str) -> Launch:
    return Launch(step, 1, "worker")


def test_it_has_a_turn_as_soon_as_what_it_looks_after_is_over_and_nothing_waits_for_it() -> None:
    schedule, _ = directed(task("S1"), task("S2"), task("S3", "S2"), look_after=("S1",))
    assert schedule.advance(done("S1")) == [TakeTurn("seen")]
    assert schedule.advance(done("S2")) == [launch("S3")]
    added = PlanExtended((task("S4", "S1"),), look_after=frozenset())
    assert schedule.advance(added) == [launch("S4")]
    assert schedule.advance(done("S3")) == []
    assert schedule.advance(done("S4")) == [TakeTurn("over")]
    assert schedule.advance(PlanExtended(())) == [Finish("completed")]


def test_without_turns_a_plan_ends_when_nothing_is_left() -> None:
    schedule = Schedule(ConcurrencyLimits(9))
    schedule.advance(PlanExtended((task("S1"),)))
    assert schedule.advance(done("S1")) == [Finish("completed")]


def test_it_has_a_turn_when_a_required_step_has_failed_and_may_go_on_otherwise() -> None:
    schedule, _ = directed(task("S1"), task("S2", "S1"), task("S3"))
    failed = schedule.advance(AttemptFinished("S1", "failed"))
    assert failed == [Skip("S2", "S1"), TakeTurn("failed")]
    steps = (task("S4"), task("S5", "S4"))
    without = frozenset({"S1", "S2"})
    added = PlanExtended(steps, without=without, look_after=frozenset())
    assert schedule.advance(added) == [launch("S4")]
    schedule.advance(done("S3"))
    assert schedule.advance(done("S4")) == [launch("S5")]
    assert schedule.advance(done("S5")) == [TakeTurn("over")]
    assert schedule.advance(PlanExtended(())) == [Finish("completed")]


def test_a_failure_that_it_adds_nothing_for_stays_one() -> None:
    schedule, _ = directed(task("S1"), task("S2"))
    assert schedule.advance(AttemptFinished("S1", "failed")) == [TakeTurn("failed")]
    assert schedule.advance(PlanExtended((), look_after=frozenset())) == []
    assert schedule.advance(done("S2")) == [TakeTurn("over")]
    assert schedule.advance(PlanExtended(())) == [Finish("partial")]


def test_an_optional_step_that_fails_gives_no_turn() -> None:
    schedule, _ = directed(task("S1", optional=True), task("S2"))
    assert schedule.advance(AttemptFinished("S1", "failed")) == []


def test_a_failure_during_a_turn_gives_the_next_one() -> None:
    schedule, _ = directed(task("S1"), task("S2"), task("S3"), look_after=("S1",))
    assert schedule.advance(done("S1")) == [TakeTurn("seen")]
    assert schedule.advance(AttemptFinished("S2", "failed")) == []
    assert schedule.advance(PlanExtended((), look_after=frozenset())) == [TakeTurn("failed")]


def test_a_step_that_is_given_up_ends_and_what_needs_it_goes_on_without_it() -> None:
    steps = (task("S1"), task("S2"), task("S3", "S2"), task("S4", "S2"), task("S5"))
    schedule, _ = directed(*steps, look_after=("S1",), at_once=3)
    schedule.advance(done("S1"))
    answer = PlanExtended((), given_up=("S2", "S4"), look_after=frozenset())
    assert schedule.advance(answer) == [Cancel("S2")]
    assert schedule.advance(AttemptFinished("S2", "cancelled")) == [launch("S3")]
    assert schedule.statuses["S2"] == schedule.statuses["S4"] == "skipped"
    schedule.advance(done("S3"))
    assert schedule.advance(done("S5")) == [TakeTurn("over")]
    assert schedule.advance(PlanExtended(())) == [Finish("completed")]


def test_a_step_that_is_ready_and_given_up_is_never_launched() -> None:
    schedule, _ = directed(task("S1"), task("S2"), task("S3"), look_after=("S1",), at_once=1)
    assert schedule.advance(done("S1")) == [launch("S2"), TakeTurn("seen")]
    assert schedule.advance(PlanExtended((), given_up=("S3",), look_after=frozenset())) == []
    assert schedule.advance(done("S2")) == [TakeTurn("over")]
    assert schedule.statuses["S3"] == "skipped"


def test_what_has_ended_before_it_is_given_up_stays_as_it_is() -> None:
    schedule, _ = directed(task("S1"), task("S2"), look_after=("S1",))
    schedule.advance(done("S1"))
    schedule.advance(done("S2"))
    assert schedule.advance(PlanExtended((), given_up=("S2",))) == [Finish("completed")]
    assert schedule.statuses["S2"] == "succeeded"


def test_what_is_cancelled_or_replaced_during_a_turn_waits_for_no_turn() -> None:
    schedule, _ = directed(task("S1"), task("S2"), look_after=("S1",))
    schedule.advance(done("S1"))
    assert schedule.advance(Cancelled()) == [Cancel("S2")]
    assert schedule.advance(AttemptFinished("S2", "cancelled")) == [Finish("partial")]
    schedule, _ = directed(task("S1"), look_after=("S1",))
    schedule.advance(done("S1"))
    assert schedule.advance(Edited()) == [Replace()]


def test_it_has_a_turn_as_soon_as_a_person_has_written_to_it() -> None:
    schedule, _ = directed(task("S1"), task("S2"), look_after=("S1",))
    assert schedule.advance(Messaged()) == [TakeTurn("message")]
    added = PlanExtended((task("S3"),), look_after=frozenset({"S3"}))
    assert schedule.advance(added) == [launch("S3")]
    assert schedule.advance(done("S1")) == []


def test_what_a_person_writes_while_a_turn_is_under_way_makes_the_next_one_due_after_it() -> None:
    schedule, _ = directed(task("S1"), task("S2"), look_after=("S1",))
    assert schedule.advance(done("S1")) == [TakeTurn("seen")]
    assert schedule.advance(Messaged()) == []
    more = PlanExtended((), look_after=frozenset())
    assert schedule.advance(more) == [TakeTurn("message")]
    assert schedule.advance(more) == []


def test_a_turn_for_another_cause_reads_what_a_person_has_written_too() -> None:
    schedule, _ = directed(task("S1"))
    schedule.advance(Messaged())
    assert schedule.advance(done("S1")) == []
    assert schedule.advance(PlanExtended((), look_after=frozenset())) == [TakeTurn("over")]
    assert schedule.advance(PlanExtended(())) == [Finish("completed")]


def test_without_turns_what_a_person_has_written_changes_nothing() -> None:
    schedule = Schedule(ConcurrencyLimits(9))
    schedule.advance(PlanExtended((task("S1"),)))
    assert schedule.advance(Messaged()) == []
    assert schedule.advance(done("S1")) == [Finish("completed")]


def test_what_a_person_has_written_waits_until_the_plan_is_approved() -> None:
    schedule = Schedule(ConcurrencyLimits(9))
    schedule.advance(PlanExtended((task("S1"),), asked=True, look_after=frozenset()))
    assert schedule.advance(Messaged()) == [Wait()]
    assert schedule.advance(Approved()) == [launch("S1"), TakeTurn("message")]
