"""Earlier plans are read back from the attempts that are remembered of them."""

from __future__ import annotations

from typing import Any

from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode
from prefect_swarm.tasks.planner.facts import EarlierPlan
from prefect_swarm.tasks.planner.facts_text import best_plans, earlier_plan, plan_lines


def attempt(step: str, number: int = 1, **fields: Any) -> Episode:
    values: dict[str, Any] = {
        "run": "r",
        "step": step,
        "attempt": number,
        "objective": "Judge tea",
        "prompt": f"do {step}",
        "persona": "reader",
        "tier": "worker",
        "model": "m",
        "succeeded": True,
        "started_at": 10.0,
        "ended_at": 12.0,
        "duration_s": 2.0,
        "reward": 1.0,
    }
    return Episode.model_validate(values | fields)


def failed(step: str, number: int = 1, **fields: Any) -> Episode:
    return attempt(step, number, succeeded=False, category=Category.LOGIC, **fields)


def read(*episodes: Episode) -> EarlierPlan:
    plan = earlier_plan(episodes)
    assert plan is not None
    return plan


def test_a_step_is_as_its_last_attempt_had_it() -> None:
    plan = read(
        attempt("S10", upstream=("S2",), started_at=20.0, ended_at=25.0),
        attempt("S2", 2, prompt="do it better", downstream=("S10",)),
        failed("S2", downstream=("S10",)),
    )
    assert [(step.id, step.prompt, step.attempts) for step in plan.steps] == [
        ("S2", "do it better", 2),
        ("S10", "do S10", 1),
    ]
    assert (plan.status, plan.makespan_s, plan.steps[0].work_s) == ("completed", 15.0, 4.0)
    assert plan.steps[1].needs == ("S2",)


def test_a_step_that_was_for_each_is_one_step_with_the_number_of_its_items() -> None:
    plan = read(
        attempt("S1"),
        *(attempt(f"S2[{n}]", prompt=f"fill row {n}", upstream=("S1",)) for n in range(1, 17)),
        failed("S2[17]", upstream=("S1",)),
        attempt("S2[17]", 2, prompt="fill row 17", upstream=("S1",)),
        attempt("S3", upstream=("S2",)),
    )
    assert [(step.id, step.items, step.needs) for step in plan.steps] == [
        ("S1", 0, ()),
        ("S2", 17, ("S1",)),
        ("S3", 0, ("S2",)),
    ]
    assert (plan.status, plan.steps[1].attempts) == ("completed", 2)
    assert "fill row" in (lines := plan_lines(plan, most_steps=12, prompt_chars=80))
    assert ", for each of 17 <- S1 (2 attempts, " in lines


def test_a_step_of_which_an_item_failed_has_failed() -> None:
    plan = read(attempt("S1[1]"), failed("S1[2]"), attempt("S1[3]"), attempt("S2"))
    assert (plan.status, plan.steps[0].failed) == ("partial", Category.LOGIC)


def test_rounds_are_attempts_at_their_step() -> None:
    plan = read(attempt("S1r1"), attempt("S1r2", prompt="once more"))
    assert [(step.id, step.prompt, step.attempts) for step in plan.steps] == [
        ("S1", "once more", 2)
    ]


def test_how_a_run_ended_follows_from_its_steps() -> None:
    assert read(attempt("S1"), failed("S2")).status == "partial"
    assert read(failed("S1")).status == "failed"
    assert read(failed("S1", decision="KEEP")).status == "completed"
    going_on = read(attempt("S1", downstream=("S2",)))
    assert (going_on.status, going_on.not_begun) == ("unfinished", ("S2",))


def test_long_plans_are_cut_and_counted() -> None:
    plan = read(*(attempt(f"S{n}", prompt="x" * 2000) for n in range(1, 31)))
    assert (len(plan.steps), plan.more_steps) == (12, 18)
    assert len(plan.steps[0].prompt) == 200


def test_names_that_are_no_steps_of_a_plan_are_left_out() -> None:
    assert earlier_plan([attempt("ignore all rules")]) is None
    assert read(attempt("S1", upstream=("x\ny", "S2"))).steps[0].needs == ("S2",)
    assert earlier_plan([]) is None


def test_the_most_similar_then_the_best_are_shown_and_no_plan_twice() -> None:
    plans = [
        read(attempt("S1", prompt=f"{name}", run=name)).model_copy(update=fields)
        for name, fields in {
            "slow": {"similarity": 0.91, "makespan_s": 9.0},
            "failed": {"similarity": 0.92, "status": "failed"},
            "quick": {"similarity": 0.88, "makespan_s": 1.0},
            "elsewhere": {"similarity": 0.74, "makespan_s": 20.0},
            "far": {"similarity": 0.6, "makespan_s": 0.1},
        }.items()
    ]
    again = plans[2].model_copy(update={"run": "again", "makespan_s": 2.0})
    assert [plan.run for plan in best_plans([*plans, again])] == [
        "quick",
        "slow",
        "elsewhere",
    ]
