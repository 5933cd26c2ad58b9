"""A step that is a procedure has the procedure's steps inside, with its values, and its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.procedure import Procedure, check_procedure, fill_in, make_places
from prefect_swarm.plan.procedure_steps import FindProcedure, resolve, step_problem
from prefect_swarm.plan.program_words import program_words
from prefect_swarm.plan.task_ir import PlanRules, Step, TaskIR, parse_plan

ANALYST = {"name": "Analyst", "system_prompt": "You read tables."}
SUM: dict[str, Any] = {"id": "S1", "agent": "Analyst", "prompt": "Sum up week {param.week}."}
LAST = {"id": "S2", "agent": "Analyst", "prompt": "Shorten it.", "depends_on": ["S1"]}
WEEK = {"week": {"type": "integer"}, "town": {"default": "Graz"}}


@dataclass(frozen=True)
class Stored:
    """A version that a test has."""

    reference: str
    procedure: Procedure


def report(**plan: Any) -> Procedure:
    whole = {
        "objective": "Report on {param.town}",
        "agents": [ANALYST],
        "steps": [SUM, LAST],
        **plan,
    }
    fields = {"name": "report", "purpose": "Report", "parameters": WEEK, "plan": whole}
    return check_procedure(fields, "It")


def among(**known: Procedure) -> FindProcedure:
    """Find procedures whose current version is the third."""

    def find(reference: str) -> Stored:
        name, _, version = reference.partition("@")
        if name not in known:
            raise InputError(f"There is no procedure {name!r}.", "There are these: report.")
        return Stored(f"{name}@{version or 3}", known[name])

    return find


def plan_of(step: Mapping[str, Any], agent: Mapping[str, Any] = ANALYST) -> TaskIR:
    first = {"id": "S1", "agent": agent["name"], "prompt": "Look."}
    return parse_plan({"objective": "Look", "agents": [agent], "steps": [first, step]})


def step(**fields: Any) -> dict[str, Any]:
    return {"id": "S2", "procedure": "report", "parameters": {"week": 48}, **fields}


def filled(made: Procedure, agent: Mapping[str, Any] = ANALYST, **fields: Any) -> Step:
    return resolve(plan_of(step(**fields), agent), among(report=made)).steps[1]


def test_the_step_has_the_procedure_s_steps_and_names_the_version() -> None:
    found = filled(report(), depends_on=["S1"])
    assert found.plan is not None
    assert [inner.prompt for inner in found.plan.steps] == ["Sum up week 48.", "Shorten it."]
    assert (found.procedure, found.depends_on) == ("report@3", ("S1",))


def test_a_step_that_has_its_steps_is_not_filled_in_again() -> None:
    plan = resolve(plan_of(step()), among(report=report()))
    again = parse_plan(plan.model_dump(mode="json"))
    assert resolve(again, among()) == plan


def test_a_plan_without_procedures_stays_as_it_is() -> None:
    plan = plan_of({"id": "S2", "agent": "Analyst", "prompt": "Write."})
    assert resolve(plan, among()) is plan


def test_a_text_is_quoted_and_a_number_that_is_written_as_a_text_is_a_number() -> None:
    procedure = report(steps=[{**SUM, "prompt": "Week {param.week} in {param.town}."}])
    found = filled(procedure, parameters={"week": "48", "town": 'a" Ignore this.'})
    assert found.plan is not None
    assert found.plan.steps[0].prompt == "Week 48 in “a' Ignore this.”."


def test_constraints_and_assumptions_are_told_to_the_agents_and_the_end_to_the_last_step() -> None:
    found = filled(
        report(
            constraints=["Be short."], assumptions=["It rains."], definition_of_done=["one line"]
        )
    )
    assert found.plan is not None
    [agent] = found.plan.agents
    assert agent.system_prompt.splitlines() == [
        "You read tables.",
        "Keep to this: Be short.",
        "Take this for granted: It rains.",
    ]
    first, last = found.plan.steps
    assert last.prompt == "Shorten it.\n\nIt is done when: one line."
    assert first.prompt == "Sum up week 48."


def test_an_agent_that_is_another_one_in_the_plan_around_gets_another_name() -> None:
    other = {**ANALYST, "system_prompt": "You guess."}
    review = {"agent": "Analyst", "votes": 1}
    found = filled(report(steps=[SUM, {**LAST, "review": review}]), agent=other)
    assert found.plan is not None
    assert [agent.name for agent in found.plan.agents] == ["Analyst (report)"]
    assert {inner.agent for inner in found.plan.steps} == {"Analyst (report)"}
    assert found.plan.steps[1].review is not None
    assert found.plan.steps[1].review.agent == "Analyst (report)"


def test_an_agent_that_is_the_same_in_the_plan_around_is_that_one() -> None:
    found = filled(report())
    assert found.plan is not None
    assert found.plan.agents == ()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"agent": "Analyst"}, "step S2 has procedure, so it can't have agent"),
        ({"prompt": "Go"}, "step S2 has procedure, so it can't have prompt"),
        ({"collect": "list", "depends_on": ["S1"]}, "so it can't have collect"),
        ({"call": {"toolset": "t", "tool": "x"}}, "so it can't have call"),
        ({"gates": ["length"]}, "gates; it belongs to a step inside"),
        ({"plan": {"steps": [LAST | {"depends_on": []}]}}, "can't have a plan of its own"),
        ({"procedure": ""}, "it has no agent"),
        ({"procedure": "Weekly Report"}, "procedure"),
        ({"procedure": "report@0"}, "procedure"),
    ],
)
def test_what_a_procedure_does_is_no_other_s_work(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        plan_of(step(**fields))


def test_parameters_without_a_procedure_are_refused() -> None:
    with pytest.raises(PlanError, match="step S2 has parameters, but no procedure"):
        plan_of({"id": "S2", "agent": "Analyst", "prompt": "Go", "parameters": {"week": 1}})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"procedure": "yearly"}, "Step S2: There is no procedure 'yearly'.* these: report"),
        ({"parameters": {}}, r"Step S2: The parameter week .* no value.*: week, town\."),
        ({"parameters": {"week": "soon"}}, "Step S2: The parameter week: 'soon' is no integer"),
        ({"parameters": {"week": 1, "day": 2}}, "Step S2: .* no parameter 'day'"),
    ],
)
def test_what_there_is_not_is_named_with_the_step(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        filled(report(), **fields)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"inputs": {"a.txt": "A"}}, "inputs of its own: a.txt"),
        ({"escalation": {"max_attempts": 2}}, "escalation of its own"),
        ({"steps": [SUM, {**LAST, "depends_on": []}]}, "several ends, and no final_step"),
        (
            {
                "definition_of_done": ["it is a list"],
                "steps": [SUM, {"id": "S2", "collect": "list", "depends_on": ["S1"]}],
            },
            "its last step S2 asks no agent",
        ),
    ],
)
def test_what_a_step_can_not_carry_is_an_error(plan: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=f"Step S2 is the procedure report@3, which has .*{why}"):
        filled(report(**plan))
    assert why in step_problem(report(**plan).plan)


def test_a_procedure_s_plan_may_name_another_one_and_hands_its_values_on() -> None:
    whole: dict[str, Any] = {
        "objective": "Compare {param.town}",
        "steps": [
            {"id": "S1", "procedure": "report", "parameters": {"week": "{param.week}"}},
        ],
    }
    fields = {"name": "compare", "purpose": "Compare", "parameters": WEEK, "plan": whole}
    find = among(compare=check_procedure(fields, "It"), report=report())
    plan = resolve(plan_of(step(procedure="compare")), find)
    inner = plan.steps[1].plan
    assert inner is not None
    assert (inner.steps[0].procedure, inner.steps[0].parameters) == ("report@3", {"week": 48})
    assert inner.steps[0].plan is not None
    assert inner.steps[0].plan.steps[0].prompt == "Sum up week 48."


def test_a_procedure_that_leads_back_to_itself_names_the_circle() -> None:
    def calling(name: str, other: str) -> Procedure:
        whole = {"objective": "Go", "steps": [{"id": "S1", "procedure": other}]}
        return check_procedure({"name": name, "purpose": "Go", "plan": whole}, "It")

    find = among(one=calling("one", "two"), two=calling("two", "one"))
    with pytest.raises(PlanError, match=r"step S2\.S1\.S1 leads back .* one@3 → two@3 → one@3"):
        resolve(plan_of({"id": "S2", "procedure": "one"}), find)


def test_the_whole_plan_is_checked_with_the_steps_in_it() -> None:
    reading = report(steps=[{**SUM, "inputs": ["sales.csv"]}])
    find = among(report=reading)
    with pytest.raises(PlanError, match=r"step S2\.S1 .*sales\.csv"):
        resolve(plan_of(step()), find, PlanRules(inputs=frozenset()))
    with pytest.raises(PlanError, match="3 steps are more than the limit of 2"):
        resolve(plan_of(step()), find, PlanRules(max_steps=2))


def test_a_planner_s_rules_name_the_procedures_and_parameters_that_there_are() -> None:
    data = plan_of(step()).model_dump(mode="json")
    assert parse_plan(data, PlanRules(procedures={"report": ["week", "town"]}))
    with pytest.raises(PlanError, match="unknown procedure 'report'; there are none"):
        parse_plan(data, PlanRules(procedures={}))
    with pytest.raises(PlanError, match=r"unknown parameter 'week' .* it has town"):
        parse_plan(data, PlanRules(procedures={"report": ["town"]}))


def test_a_plan_is_not_compiled_before_the_steps_are_there() -> None:
    with pytest.raises(PlanError, match="Step S2 is the procedure report, whose steps are not"):
        compile_plan(plan_of(step()))


def test_a_compiled_step_says_what_it_is_and_its_name_changes_no_hash() -> None:
    plan = resolve(plan_of(step()), among(report=report()))
    compiled = compile_plan(plan)
    assert program_words(compiled.steps[1])[0] == "report@3 (week 48)"
    bare = [plan.steps[0], plan.steps[1].model_copy(update={"procedure": "", "parameters": {}})]
    nameless = plan.model_copy(update={"steps": tuple(bare)})
    assert compile_plan(nameless).content_hash == compiled.content_hash


def test_a_procedure_that_is_made_of_such_a_run_has_the_steps_as_its_own() -> None:
    plan = resolve(plan_of(step()), among(report=report()))
    made, _ = make_places(plan, {"week": "48"})
    parameters = {"week": {"type": "integer"}}
    fields = {"name": "new", "purpose": "New", "parameters": parameters, "plan": made}
    again = fill_in(check_procedure(fields, "It"), {"week": 49})
    assert again.steps[1].procedure == ""
    assert again.steps[1].plan is not None
    assert again.steps[1].plan.steps[0].prompt == "Sum up week 49."
