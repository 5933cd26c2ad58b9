"""Repairs of a small model's plan, and cases that are left unchanged."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.data.generate import generate
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.line_format import RULES, read_lines, repair_by, repair_plan

PLANNING = Path(__file__).parents[3] / "benches" / "planning"


def test_a_plan_of_one_step_asks_what_was_asked() -> None:
    objective = "Email class 4b about Thursday's trip;\nmention the cost (7 euros)."
    plan, notes = repair_plan(read_lines("1. Secretary: Write an email to class 4b", objective))
    assert [step.prompt for step in plan.steps] == [objective]
    assert notes == ("S1 asks what the objective asks",)


def test_its_output_stays_what_the_model_asked_for() -> None:
    text = "1. Python Developer: Write a Python function that reverses a list"
    plan, _ = repair_plan(read_lines(text, "reversed list, python, thx"))
    assert plan.steps[0].output.kind == "python"


def test_a_rule_can_be_left_out() -> None:
    plan = read_lines("1. Poet: Write an ode", "Write an ode to Split")
    assert repair_by((), plan) == (plan, ())
    assert repair_by(RULES, plan) == repair_plan(plan) != (plan, ())


def _right_plans() -> list[TaskIR]:
    found = [read_lines(pair.plan, pair.objective) for pair in generate(77, 400)]
    for name in ("heldout", "fresh", "third"):
        asked = _lines(PLANNING / f"{name}.jsonl")
        objectives = {entry["id"]: entry["objective"] for entry in asked}
        plans = _lines(PLANNING / f"{name}_plans.jsonl")
        found += [read_lines("\n".join(plan["plan"]), objectives[plan["id"]]) for plan in plans]
    return found


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_no_right_plan_of_several_steps_is_changed() -> None:
    several = [plan for plan in _right_plans() if len(plan.steps) > 1]
    assert len(several) > 400
    assert [repair_plan(plan).notes for plan in several] == [()] * len(several)


_WORD = st.sampled_from(["compare", "describe", "tea", "coffee", "in 60 words"])
_LINE = st.lists(_WORD, min_size=2, max_size=6).map(" ".join).map(str.capitalize)


@given(st.lists(_LINE, min_size=1, max_size=3), _LINE)
def test_a_repaired_plan_is_one_and_stays_as_it_is(prompts: list[str], objective: str) -> None:
    lines = [f"{number}. Tea Expert: {prompt}" for number, prompt in enumerate(prompts, 1)]
    plan, _ = repair_plan(read_lines("\n".join(lines), objective))
    assert TaskIR.model_validate(plan.model_dump()) == plan
    assert repair_plan(plan) == (plan, ())
