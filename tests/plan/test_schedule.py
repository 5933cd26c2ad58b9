"""The schedule: what it answers to each event, by tables."""

from collections.abc import Mapping
from typing import Literal

import pytest
from prefect_swarm.plan.compile import CompiledStep
from prefect_swarm.plan.schedule import ConcurrencyLimits, Schedule
from prefect_swarm.plan.schedule_events import (
    Approved,
    Ask,
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    Edited,
    Event,
    Finish,
    Launch,
    PlanExtended,
    Rejected,
    Replace,
    Skip,
    Wait,
)
from prefect_swarm.plan.task_ir import Tier

Ending = Literal["succeeded", "failed", "skipped", "waived", "cancelled"]


def task(
    name: str,
    upstream: tuple[str, ...] = (),
    *,
    priority: float = 1.0,
    tier: Tier = "worker",
    optional: bool = False,
) -> CompiledStep:
    return CompiledStep(name, upstream=upstream, priority=priority, tier=tier, optional=optional)


def started(*jobs: CompiledStep, at_once: int = 9, **tiers: int) -> tuple[Schedule, list[Command]]:
    schedule = Schedule(ConcurrencyLimits(at_once, tiers))
    return schedule, schedule.advance(PlanExtended(jobs))


def done(step: str, outcome: Ending = "succeeded") -> AttemptFinished:
    return AttemptFinished(step, outcome)


def again(step: str, tier: str | None = None) -> AttemptFinished:
    return AttemptFinished(step, "retry", tier)


def launch(step: str, attempt: int = 1, tier: str = "worker") -> Launch:
    return Launch(step, attempt, tier)


DIAMOND = (task("S1"), task("S2", ("S1",)), task("S3", ("S1",)), task("S4", ("S2", "S3")))


# --- starting -----------------------------------------------------------------------------------


def test_steps_that_need_nothing_start_at_once() -> None:
    _, commands = started(task("S1"), task("S2"), task("S3", ("S1",)))
    assert commands == [launch("S1"), launch("S2")]


def test_a_step_starts_the_moment_its_own_inputs_are_there() -> None:
    schedule, _ = started(task("S1"), task("S2"), task("S3", ("S1",)))
    assert schedule.advance(done("S1")) == [launch("S3")]
    assert schedule.statuses["S2"] == "running"


def test_a_join_waits_for_all_of_its_inputs() -> None:
    schedule, _ = started(*DIAMOND)
    assert schedule.advance(done("S1")) == [launch("S2"), launch("S3")]
    assert schedule.advance(done("S3")) == []
    assert schedule.advance(done("S2")) == [launch("S4")]
    assert schedule.advance(done("S4")) == [Finish("completed")]


def test_the_step_with_the_longest_remaining_path_goes_first() -> None:
    jobs = (task("S1", priority=1), task("S2", priority=5), task("S3", priority=3))
    schedule, commands = started(*jobs, at_once=1)
    assert commands == [launch("S2")]
    assert schedule.advance(done("S2")) == [launch("S3")]


def test_of_equal_steps_the_earlier_one_in_the_plan_goes_first() -> None:
    _, commands = started(task("S9"), task("S10"), task("S1"), at_once=2)
    assert commands == [launch("S9"), launch("S10")]


def test_a_tier_with_a_limit_holds_back_only_its_own_steps() -> None:
    jobs = (task("S1", tier="coder"), task("S2", tier="coder"), task("S3"))
    schedule, commands = started(*jobs, coder=1)
    assert commands == [launch("S1", tier="coder"), launch("S3")]
    assert schedule.statuses["S2"] == "ready"


def test_the_limit_holds_over_all_tiers_together() -> None:
    schedule, commands = started(task("S1"), task("S2", tier="coder"), at_once=1)
    assert commands == [launch("S1")]
    assert schedule.advance(done("S1")) == [launch("S2", tier="coder")]


# --- failures -----------------------------------------------------------------------------------


def test_a_required_failure_skips_everything_below_it_and_nothing_else() -> None:
    schedule, _ = started(*DIAMOND, task("S5"), task("S6", ("S5",)))
    commands = schedule.advance(done("S1", "failed"))
    assert commands == [Skip("S2", "S1"), Skip("S3", "S1"), Skip("S4", "S3")]
    assert schedule.advance(done("S5")) == [launch("S6")]
    assert schedule.advance(done("S6")) == [Finish("partial")]


def test_a_join_is_skipped_without_waiting_for_its_other_inputs() -> None:
    schedule, _ = started(task("S1"), task("S2"), task("S3", ("S1", "S2")))
    assert schedule.advance(done("S1", "failed")) == [Skip("S3", "S1")]
    assert schedule.advance(done("S2")) == [Finish("partial")]


@pytest.mark.parametrize("outcome", ["failed", "skipped", "cancelled"])
def test_an_optional_step_that_does_not_succeed_blocks_nothing(outcome: Ending) -> None:
    schedule, _ = started(task("S1", optional=True), task("S2", ("S1",)))
    assert schedule.advance(done("S1", outcome)) == [launch("S2")]
    assert schedule.advance(done("S2")) == [Finish("completed")]


def test_a_step_below_a_skipped_optional_one_still_runs() -> None:
    jobs = (task("S1"), task("S2", ("S1",), optional=True), task("S3", ("S2",)))
    schedule, _ = started(*jobs)
    assert schedule.advance(done("S1", "failed")) == [Skip("S2", "S1"), launch("S3")]


def test_nothing_that_succeeded_means_a_failed_run() -> None:
    schedule, _ = started(task("S1"), task("S2"))
    schedule.advance(done("S1", "failed"))
    assert schedule.advance(done("S2", "failed")) == [Finish("failed")]


# --- attempts -----------------------------------------------------------------------------------


def test_a_retry_starts_the_next_attempt_on_the_same_tier() -> None:
    schedule, _ = started(task("S1"), task("S2", ("S1",)))
    assert schedule.advance(again("S1")) == [launch("S1", 2)]
    assert schedule.advance(again("S1")) == [launch("S1", 3)]
    assert schedule.advance(done("S1")) == [launch("S2")]


def test_an_escalated_step_stays_on_its_new_tier() -> None:
    schedule, _ = started(task("S1"))
    assert schedule.advance(again("S1", "coder")) == [launch("S1", 2, "coder")]
    assert schedule.advance(again("S1")) == [launch("S1", 3, "coder")]


def test_an_escalated_step_counts_against_its_new_tier() -> None:
    schedule, _ = started(task("S1"), task("S2"), task("S3", tier="coder"), worker=1, coder=1)
    assert schedule.advance(again("S1", "coder")) == [launch("S2")]
    assert schedule.advance(done("S3")) == [launch("S1", 2, "coder")]


def test_a_retry_has_no_right_to_go_first() -> None:
    schedule, _ = started(task("S1", priority=1), task("S2", priority=9), task("S3"), at_once=1)
    assert schedule.advance(again("S2")) == [launch("S2", 2)]
    schedule.advance(PlanExtended((task("S4", priority=20),)))
    assert schedule.advance(again("S2")) == [launch("S4")]


# --- another stage ------------------------------------------------------------------------------


def test_a_stage_that_is_added_starts_at_once() -> None:
    schedule, _ = started(task("S1"))
    assert schedule.advance(done("S1")) == [Finish("completed")]
    assert schedule.advance(PlanExtended((task("S2", ("S1",)),))) == [launch("S2")]
    assert schedule.advance(done("S2")) == [Finish("completed")]


def test_an_added_step_waits_for_what_still_runs() -> None:
    schedule, _ = started(task("S1"))
    assert schedule.advance(PlanExtended((task("S2", ("S1",)),))) == []
    assert schedule.advance(done("S1")) == [launch("S2")]


def test_an_added_step_below_a_failed_one_is_skipped() -> None:
    schedule, _ = started(task("S1"), task("S2"))
    schedule.advance(done("S1", "failed"))
    added = PlanExtended((task("S3", ("S1", "S2")), task("S4", ("S3",))))
    assert schedule.advance(added) == [Skip("S3", "S1"), Skip("S4", "S3")]


def test_an_added_step_below_a_failed_optional_one_starts_at_once() -> None:
    schedule, _ = started(task("S1", optional=True), task("S2"))
    schedule.advance(done("S1", "failed"))
    assert schedule.advance(PlanExtended((task("S3", ("S1",)),))) == [launch("S3")]


# --- cancelling ---------------------------------------------------------------------------------


def test_cancelling_stops_what_runs_and_starts_nothing_more() -> None:
    schedule, _ = started(*DIAMOND, task("S5"), task("S6"), at_once=2)
    assert schedule.advance(Cancelled()) == [Cancel("S1"), Cancel("S5")]
    assert schedule.advance(done("S1")) == []
    assert schedule.advance(done("S5", "cancelled")) == [Finish("partial")]
    assert [name for name, status in schedule.statuses.items() if status == "cancelled"] == [
        "S2", "S3", "S4", "S5", "S6",
    ]  # fmt: skip


def test_a_cancelled_run_retries_nothing() -> None:
    schedule, _ = started(task("S1"))
    schedule.advance(Cancelled())
    assert schedule.advance(again("S1")) == [Finish("failed")]
    assert schedule.statuses == {"S1": "cancelled"}


def test_a_stage_added_to_a_cancelled_run_is_cancelled() -> None:
    schedule, _ = started(task("S1"))
    schedule.advance(Cancelled())
    assert schedule.advance(PlanExtended((task("S2"),))) == []
    assert schedule.statuses["S2"] == "cancelled"


def test_a_run_cancelled_before_anything_started_is_over() -> None:
    schedule, _ = started(task("S1"), worker=0)
    assert schedule.advance(Cancelled()) == [Finish("failed")]


# --- events that do not fit ---------------------------------------------------------------------

MISFITS: Mapping[str, tuple[Event, str]] = {
    "an unknown step ends": (done("S9"), "S9 is unknown, so no attempt of it can finish"),
    "a waiting step ends": (done("S3"), "S3 is waiting, so no"),
    "a step ends twice": (done("S1"), "S1 is succeeded, so no"),
    "a retry after the end": (again("S1"), "S1 is succeeded, so no"),
    "a step is added twice": (PlanExtended((task("S1"),)), "S1 is in the plan already"),
    "a step is doubled": (PlanExtended((task("S7"), task("S7"))), "S7 is in the plan already"),
    "a dependency is not there": (
        PlanExtended((task("S7"), task("S8", ("S9",)))),
        "S8 depends on S9, which is not there",
    ),
    "a dependency comes later": (
        PlanExtended((task("S7", ("S8",)), task("S8"))),
        "S7 depends on S8, which is not there",
    ),
}


@pytest.mark.parametrize(("event", "words"), MISFITS.values(), ids=MISFITS)
def test_a_misfit_is_refused_and_changes_nothing(event: Event, words: str) -> None:
    schedule, _ = started(task("S1"), task("S2"), task("S3", ("S2",)))
    schedule.advance(done("S1"))
    before = schedule.statuses
    with pytest.raises(ValueError, match=words):
        schedule.advance(event)
    assert schedule.statuses == before
    assert schedule.advance(done("S2")) == [launch("S3")]


def test_what_depends_on_a_waived_step_goes_on_and_the_plan_is_complete() -> None:
    schedule, _ = started(task("S1"), task("S2", ("S1",)))
    assert schedule.advance(done("S1", "waived")) == [launch("S2")]
    assert schedule.statuses["S1"] == "skipped"
    assert schedule.advance(done("S2")) == [Finish("completed")]


def test_what_is_under_way_is_launched_before_longer_paths() -> None:
    schedule = Schedule(ConcurrencyLimits(2))
    jobs = (task("S1", priority=1), task("S2", priority=9), task("S3", priority=2))
    commands = schedule.advance(PlanExtended(jobs, under_way=frozenset({"S1"})))
    assert commands == [launch("S1"), launch("S2")]


# --- waiting for a person -------------------------------------------------------------------------


def asking(
    *jobs: CompiledStep, about: str = "", plan: bool = False
) -> tuple[Schedule, list[Command]]:
    schedule = Schedule(ConcurrencyLimits(9))
    return schedule, schedule.advance(
        PlanExtended(jobs, approval=frozenset(about.split()), asked=plan)
    )


def test_a_step_is_asked_about_when_its_inputs_are_there_and_starts_when_it_is_approved() -> None:
    schedule, commands = asking(*DIAMOND, about="S2 S4")
    assert commands == [launch("S1")]
    assert schedule.advance(done("S1")) == [Ask("S2", 1), launch("S3")]
    assert schedule.statuses["S2"] == "asked"
    assert schedule.advance(done("S3")) == [Wait()]
    assert schedule.advance(Approved("S2")) == [launch("S2")]
    assert schedule.advance(done("S2")) == [Ask("S4", 1), Wait()]


def test_a_step_that_is_rejected_has_failed_and_what_needs_it_is_skipped() -> None:
    schedule, _ = asking(*DIAMOND, about="S1")
    assert schedule.advance(Rejected("S1")) == [
        Skip("S2", "S1"),
        Skip("S3", "S1"),
        Skip("S4", "S3"),
        Finish("failed"),
    ]


def test_an_optional_step_that_is_rejected_is_skipped_and_the_rest_goes_on() -> None:
    schedule, _ = asking(task("S1", optional=True), task("S2", ("S1",)), about="S1")
    assert schedule.advance(Rejected("S1")) == [launch("S2")]
    assert schedule.statuses["S1"] == "skipped"


def test_an_attempt_that_waits_in_its_middle_frees_its_slot_and_is_launched_again() -> None:
    schedule, _ = started(task("S1"), task("S2"), at_once=1)
    assert schedule.advance(AttemptFinished("S1", "asked")) == [
        Ask("S1", 1, begun=True),
        launch("S2"),
    ]
    assert schedule.advance(Approved("S1")) == []
    assert schedule.advance(done("S2")) == [launch("S1", 1)]


def test_a_failed_step_that_is_asked_about_gets_one_more_attempt() -> None:
    schedule, _ = started(task("S1"))
    assert schedule.advance(AttemptFinished("S1", "retry", asks=True)) == [Ask("S1", 2), Wait()]
    assert schedule.advance(Approved("S1")) == [launch("S1", 2)]


def test_nothing_starts_before_the_plan_is_approved() -> None:
    schedule, commands = asking(task("S1"), task("S2", ("S1",)), task("S3"), about="S3", plan=True)
    assert commands == [Ask(), Wait()]
    assert schedule.advance(Approved()) == [Ask("S3", 1), launch("S1")]


def test_a_plan_that_is_rejected_ends_the_run_as_failed() -> None:
    schedule, _ = asking(task("S1"), task("S2", ("S1",)), plan=True)
    assert schedule.advance(Rejected()) == [Skip("S1", ""), Skip("S2", ""), Finish("failed")]


def test_an_edited_plan_takes_the_place_of_this_one_once_nothing_runs() -> None:
    schedule, _ = started(task("S1"), task("S2"), task("S3"), at_once=2)
    assert schedule.advance(Edited()) == []
    assert schedule.advance(done("S1")) == []
    assert schedule.advance(done("S2")) == [Replace()]


def test_a_plan_that_is_edited_before_anything_starts_is_replaced_at_once() -> None:
    schedule, _ = asking(task("S1"), plan=True)
    assert schedule.advance(Edited()) == [Replace()]


def test_what_waits_for_a_person_is_cancelled_with_the_run() -> None:
    schedule, _ = asking(task("S1"), task("S2"), about="S1")
    assert schedule.advance(Cancelled()) == [Cancel("S2")]
    assert schedule.advance(done("S2", "cancelled")) == [Finish("failed")]
    assert set(schedule.statuses.values()) == {"cancelled"}


@pytest.mark.parametrize("event", [Approved(), Rejected(), Approved("S1"), Rejected("S9")])
def test_what_is_not_asked_can_not_be_answered(event: Event) -> None:
    schedule, _ = started(task("S1"))
    with pytest.raises(ValueError, match="nothing about it can be answered"):
        schedule.advance(event)


def test_a_plan_that_was_begun_is_not_asked_about() -> None:
    schedule, _ = started(task("S1"))
    with pytest.raises(ValueError, match="begun"):
        schedule.advance(PlanExtended((task("S2"),), asked=True))
