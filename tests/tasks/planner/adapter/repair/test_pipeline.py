"""What a small model leaves out of a plan, repaired; and what is left as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.data.generating.generate import generate
from prefect_swarm.task_ir import TaskIR
from prefect_swarm.tasks.planner.adapter.line_format import read_lines, write_lines
from prefect_swarm.tasks.planner.adapter.repair.pipeline import repair_plan

BENCHES = Path(__file__).parents[5] / "benches" / "planning"
PLANS = Path(__file__).parents[4] / "benches"
BRANCHES = "1. Guide: Describe Madeira\n2. Guide: Describe Slovenia"


def _repaired(text: str, objective: str) -> tuple[str, tuple[str, ...]]:
    plan, notes = repair_plan(read_lines(text, objective))
    return write_lines(plan), notes


def test_a_plan_of_one_step_asks_what_was_asked() -> None:
    objective = "Email class 4b about Thursday's trip;\nmention the cost (7 euros)."
    plan, notes = repair_plan(read_lines("1. Secretary: Write an email to class 4b", objective))
    assert [step.prompt for step in plan.steps] == [objective]
    assert notes == ("S1 asks what the objective asks",)


def test_its_output_stays_what_the_model_asked_for() -> None:
    text = "1. Python Developer: Write a Python function that reverses a list"
    plan, _ = repair_plan(read_lines(text, "reversed list, python, thx"))
    assert plan.steps[0].output.kind == "python"


def test_a_comparison_needs_what_it_compares() -> None:
    text = f"{BRANCHES}\n3. Judge: Compare Madeira and Slovenia"
    plan, notes = _repaired(text, "Compare Madeira and Slovenia")
    assert plan == f"{text} (needs 1, 2)"
    assert notes == ("S3 needs S1, S2, which it joins",)


def test_what_several_experts_wrote_is_for_none_of_them_to_judge() -> None:
    branches = "1. Tea Expert: Describe tea\n2. Coffee Expert: Describe coffee"
    objective = "Compare tea and coffee"
    plan, notes = _repaired(f"{branches}\n3. Tea Expert: {objective} (needs 1, 2)", objective)
    assert plan == f"{branches}\n3. Judge: {objective} (needs 1, 2)"
    assert notes == ("S3 is given to a Judge: Tea Expert contributed one of the options",)


@pytest.mark.parametrize(
    "text",
    [
        f"{BRANCHES}\n3. Guide: Compare Madeira and Slovenia (needs 1, 2)",
        "1. Tea Expert: Describe tea\n2. Judge: Describe coffee\n"
        "3. Judge: Compare tea and coffee (needs 1, 2)",
        "1. Tea Expert: Describe tea\n2. Coffee Expert: Describe coffee\n"
        "3. Tea Expert: Write up tea and coffee (needs 1, 2)",
    ],
)
def test_who_has_no_side_or_judges_nothing_stays(text: str) -> None:
    assert _repaired(text, "Tea and coffee") == (text, ())


def test_a_last_step_that_asks_what_another_asks_is_left_out() -> None:
    branches = "1. Tea Expert: Describe tea\n2. Coffee Expert: Describe coffee"
    both = "Compare tea and coffee"
    text = f"{branches}\n3. Tea Expert: {both} (needs 1, 2)\n4. Judge: {both} (needs 1, 2)"
    plan, notes = repair_plan(read_lines(text, both))
    assert write_lines(plan) == f"{branches}\n3. Judge: {both} (needs 1, 2)"
    assert plan.final_step == "S3"
    assert notes[0] == "S4 is left out, it asks what another step asks"


def test_a_step_that_asks_for_nothing_is_left_out() -> None:
    code = "1. Developer: Write class Stack"
    text = f"{code}\n2. Tester: Write no tests for class Stack (needs 1)"
    plan, notes = repair_plan(read_lines(text, "class Stack, no tests"))
    assert write_lines(plan) == "1. Developer: class Stack, no tests"
    assert [agent.name for agent in plan.agents] == ["Developer"]
    assert plan.final_step == "S1"
    assert notes == ("S2 is left out, it asks for nothing", "S1 asks what the objective asks")


@pytest.mark.parametrize(
    "text",
    [
        "1. Writer: Write no more than a page\n2. Judge: Choose one",
        "1. Writer: Write no title\n2. Judge: Read it (needs 1)",
    ],
)
def test_a_step_stays_that_another_needs_or_that_only_sounds_like_nothing(text: str) -> None:
    assert _repaired(text, "Something else") == (text, ())


def test_the_steps_that_stay_are_numbered_again() -> None:
    text = """\
1. Developer: Write class Stack
2. Tester: Write no tests for class Stack (needs 1)
3. Writer: Describe class Stack on one page (needs 1)"""
    plan, _ = _repaired(text, "class Stack, no tests, one page about it")
    lines = text.splitlines()
    assert plan == f"{lines[0]}\n{lines[2].replace('3.', '2.')}"
    first, _ = _repaired(
        "1. Tester: Write no tests\n2. Developer: Write class Stack", "class Stack"
    )
    assert first == "1. Developer: class Stack"


def test_a_judge_is_not_asked_the_same_twice() -> None:
    branches = "1. Tea Expert: Describe tea\n2. Coffee Expert: Describe coffee"
    text = f"{branches}\n3. Judge: Compare both\n4. Tea Expert: Compare both (needs 1, 2)"
    assert _repaired(text, "Tea and coffee") == (text, ())


def test_a_total_needs_the_lane_it_forgot() -> None:
    text = """\
1. Planner: Estimate the venue of the wedding
2. Planner: Estimate the flowers of the wedding
3. Planner: Estimate the band of the wedding
4. Accountant: Add up the venue, the flowers and the band of the wedding"""
    plan, _ = _repaired(f"{text} (needs 2)", "What will the wedding cost: venue, flowers, band?")
    assert plan == f"{text} (needs 1, 2, 3)"


@pytest.mark.parametrize(
    "last",
    [
        "3. Writer: Describe both, Madeira and Slovenia",
        "3. Judge: Compare prices in May",
        "3. Judge: Compare Madeira with Portugal",
    ],
)
def test_a_step_that_joins_nothing_by_its_words_needs_nothing(last: str) -> None:
    assert _repaired(f"{BRANCHES}\n{last}", "Something else") == (f"{BRANCHES}\n{last}", ())


def test_what_works_on_a_lane_stands_for_it() -> None:
    text = f"""\
{BRANCHES}
3. Poet: Turn the text on Madeira into a riddle (needs 1)
4. Editor: Combine the riddle on Madeira and the text on Slovenia (needs 2, 3)"""
    assert _repaired(text, "A riddle and a text, in one file") == (text, ())


def test_a_lane_whose_words_others_have_too_is_not_taken_as_named() -> None:
    text = """\
1. Technician: Read the log of the goods lift
2. Technician: Read the log of lift A
3. Technician: Rank the faults of the goods lift (needs 1)"""
    assert _repaired(text, "Logs of two lifts; rank the goods lift's faults") == (text, ())


def test_a_join_of_what_was_made_of_the_branches_stays_as_it_is() -> None:
    text = f"""\
{BRANCHES}
3. Editor: Write up what both are like (needs 1, 2)
4. Judge: Choose Madeira or Slovenia (needs 3)"""
    assert _repaired(text, "Which is better?") == (text, ())


@pytest.mark.parametrize(
    "objective",
    [
        "Which of these for our honeymoon, Madeira or Slovenia?",
        "Tabulate the heights of Madeira and Slovenia",
    ],
)
def test_branches_of_one_result_get_a_judge_who_reads_them_all(objective: str) -> None:
    plan, notes = _repaired(BRANCHES, objective)
    assert plan == f"{BRANCHES}\n3. Judge: {objective} (needs 1, 2)"
    assert notes == ("S3 makes the one result that the objective wants",)


def test_a_judge_who_is_there_already_is_taken() -> None:
    text = "1. Judge: Assess tea\n2. Judge: Assess coffee"
    plan, _ = repair_plan(read_lines(text, "Tea or coffee, which?"))
    assert [agent.name for agent in plan.agents] == ["Judge"]
    assert plan.final_step == "S3"


@pytest.mark.parametrize(
    "objective",
    [
        "Describe Madeira and Slovenia",
        "Madeira vs Slovenia: describe each, we choose ourselves",
        "Madeira versus Slovenia, no winner please",
        "Plead for Madeira and plead for Slovenia, but spare us the verdict",
        "Describe Madeira and Slovenia. The total doesn't interest me",
        "Describe Madeira and Slovenia, which is the chapter I like",
        "Describe Madeira and Slovenia, which is in Europe, in one page",
        "I can't decide on the tone: describe Madeira and Slovenia",
        "We compare them later: describe Madeira and Slovenia",
    ],
)
def test_branches_that_nobody_wants_joined_stay_branches(objective: str) -> None:
    assert _repaired(BRANCHES, objective) == (BRANCHES, ())


def test_there_is_no_step_more_than_allowed() -> None:
    plan = read_lines(BRANCHES, "Madeira or Slovenia, which?")
    assert repair_plan(plan, max_steps=2) == (plan, ())


def _right_plans() -> list[TaskIR]:
    found = [read_lines(pair.plan, pair.objective) for pair in generate(77, 400)]
    for name in ("heldout", "fresh", "third"):
        asked = _lines(BENCHES / f"{name}.jsonl")
        objectives = {entry["id"]: entry["objective"] for entry in asked}
        plans = _lines(PLANS / f"{name}_plans.jsonl")
        found += [read_lines("\n".join(plan["plan"]), objectives[plan["id"]]) for plan in plans]
    return found


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_no_right_plan_of_several_steps_is_changed() -> None:
    several = [plan for plan in _right_plans() if len(plan.steps) > 1]
    assert len(several) > 400
    assert [repair_plan(plan).notes for plan in several] == [()] * len(several)


_WORDS = "Compare/Write no/Describe/Choose/tea/coffee/which/of/in one"
_LIMITS = "a one-line/(not big)/in 60 words/80 words each"
_WORD = st.sampled_from(f"{_WORDS}/{_LIMITS}".split("/"))
_LINE = st.lists(_WORD, min_size=2, max_size=6).map(" ".join).map(str.capitalize)


@given(st.lists(_LINE, min_size=1, max_size=6), _LINE, st.data())
def test_a_repaired_plan_is_one_and_stays_as_it_is(
    prompts: list[str], objective: str, data: st.DataObject
) -> None:
    lines: list[str] = []
    for number, prompt in enumerate(prompts, 1):
        needs = data.draw(st.sets(st.integers(1, number - 1), max_size=2)) if number > 1 else set()
        needs_text = f" (needs {', '.join(map(str, sorted(needs)))})" if needs else ""
        agent = data.draw(st.sampled_from(["Judge", "Tea Expert", "Coffee Expert"]))
        lines.append(f"{number}. {agent}: {prompt}{needs_text}")
    plan, _ = repair_plan(read_lines("\n".join(lines), objective))
    assert TaskIR.model_validate(plan.model_dump()) == plan
    assert [step.id for step in plan.steps] == [f"S{n}" for n in range(1, len(plan.steps) + 1)]
    assert repair_plan(plan) == (plan, ())
