"""A planner is shown the procedures that there are, and may write one in an assignment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from grammar_reader import GrammarReader
from prefect_swarm.errors import InputError, NoPlanError, PlanError
from prefect_swarm.plan.procedure import Procedure, check_procedure
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.conversation import PlanContext, PlanDraft, instructions
from prefect_swarm.tasks.planner.facts import PlanningFacts, offered_procedures, procedure_facts
from prefect_swarm.tasks.planner.facts_text import facts_text
from prefect_swarm.tasks.planner.grammar import plan_grammar, plan_shape, turn_grammar
from prefect_swarm.tasks.planner.planned import WrittenPlan, plan_schema
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.tasks.planner.task import PlanRequest, _key
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

STEP: dict[str, Any] = {
    "id": "S1",
    "agent": "Analyst",
    "prompt": "Sum up week {param.week} in {param.town}.",
    "inputs": ["sales.csv"],
}
PARAMETERS = {
    "week": {"type": "integer", "description": "Its number"},
    "town": {"default": "Graz"},
}


def report(tools: tuple[str, ...] = (), **plan: Any) -> Procedure:
    agent = {"name": "Analyst", "system_prompt": "You read.", "tools": [*tools]}
    whole = {"objective": "Report", "agents": [agent], "steps": [STEP], **plan}
    fields = {"name": "report", "purpose": "The sales of a week", "parameters": PARAMETERS}
    return check_procedure({**fields, "plan": whole}, "It")


@dataclass(frozen=True)
class Stored:
    procedure: Procedure
    reference: str = "report@3"


def find(reference: str) -> Stored:
    if reference != "report":
        raise InputError(f"There is no procedure {reference!r}.", "There are these: report.")
    return Stored(report())


NOTHING = PlanRules(max_steps=3, procedures={})
OFFERED = NOTHING._replace(procedures={"report": ("week", "town"), "other": ()})
FACTS = PlanningFacts(procedures=procedure_facts([report()], ()))


def plan(**task: Any) -> dict[str, Any]:
    written = {"agent": "", "prompt": "", "depends_on": [], **task}
    return {"create_subagent": [], "assign_task": [written]}


def test_a_procedure_is_shown_with_its_parameters_and_inputs() -> None:
    assert facts_text(FACTS).text.endswith(
        "Procedures that an assignment may be, and their parameters:\n"
        "- report: “The sales of a week”; parameters: week (integer, “Its number”), town (text, "
        "else “Graz”); reads the inputs sales.csv"
    )
    assert offered_procedures(FACTS) == {"report": ("week", "town")}


@pytest.mark.parametrize(
    "left_out", [report(tools=("web",)), report(inputs={"sales.csv": "town,sales"})]
)
def test_one_that_could_not_be_a_step_is_not_shown(left_out: Procedure) -> None:
    assert procedure_facts([left_out], {"time"}) == ()
    assert procedure_facts([report(tools=("time",))], {"time"})


def test_no_more_than_20_are_shown() -> None:
    many = [report().model_copy(update={"name": f"report-{n}"}) for n in range(30)]
    assert len(procedure_facts(many, ())) == 20


def test_without_procedures_nothing_is_said_of_them() -> None:
    bare = PlanRules(max_steps=3)
    assert facts_text(PlanningFacts()).text == ""
    assert "procedures" not in PlanningFacts().model_dump(mode="json")
    assert instructions(NOTHING) == instructions(bare)
    assert plan_shape(NOTHING) == plan_shape(bare)
    assert plan_grammar(NOTHING, program=True) == plan_grammar(bare, program=True)
    assert "procedure" not in json.dumps(plan_schema(inputs=True, program=True, procedures={}))


def test_planners_are_told_when_to_use_one() -> None:
    text = instructions(OFFERED)
    assert text.startswith(instructions(NOTHING))
    assert "Use one where its purpose is what the" in text
    assert '"procedure"' in plan_shape(OFFERED)


def test_the_schema_has_the_names_that_there_are() -> None:
    schema = plan_schema(inputs=False, procedures=OFFERED.procedures)
    task = schema["$defs"]["PlannedTask"]["properties"]
    assert task["procedure"]["enum"] == ["other", "report"]
    assert sorted(task["parameters"]["properties"]) == ["town", "week"]


@pytest.mark.parametrize(
    ("rules", "task", "admitted"),
    [
        (OFFERED, {"procedure": "report", "parameters": {"week": 48, "town": "Linz"}}, True),
        (OFFERED, {"procedure": "report", "parameters": {}}, True),
        (OFFERED, {"procedure": "other"}, True),
        (OFFERED, {"procedure": "third"}, False),
        (OFFERED, {"procedure": "other", "parameters": {"week": 48}}, False),
        (NOTHING, {"procedure": "report"}, False),
    ],
)
@pytest.mark.parametrize("program", [False, True])
def test_a_model_file_writes_no_other_name(
    rules: PlanRules, task: dict[str, Any], *, admitted: bool, program: bool
) -> None:
    written = plan(**task)
    grammar = plan_grammar(rules, program=program)
    assert GrammarReader().accepts(grammar, json.dumps(written)) is admitted
    turn = json.dumps({"assign_task": written["assign_task"]})
    grammar = turn_grammar(rules, program=program)
    assert GrammarReader().accepts(grammar, turn) is admitted


def test_a_name_is_meant_without_case_and_marks() -> None:
    written = WrittenPlan.model_validate(plan(procedure="Report", parameters={"week": 48}))
    assert written.plan("Report", OFFERED).steps[0].procedure == "report"


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ({"procedure": "third"}, "unknown procedure 'third'; there are other, report"),
        ({"procedure": "report", "parameters": {"day": 1}}, "unknown parameter 'day'"),
        (
            {"procedure": "report@2", "plan": plan(agent="A", prompt="B")},
            "step S1 has both a procedure and a plan",
        ),
    ],
)
def test_what_there_is_not_is_refused(task: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        WrittenPlan.model_validate(plan(**task)).plan("Report", OFFERED)


def draft(*tasks: Mapping[str, Any]) -> tuple[PlanDraft, list[str]]:
    """Return the plan of a model that writes these assignments, one after the other."""
    answers: Iterator[Mapping[str, Any]] = iter(tasks)
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        asked.append("\n".join(str(getattr(part, "content", "")) for part in parts))
        return ModelResponse([ToolCallPart(info.output_tools[0].name, plan(**next(answers)))])

    rules = PlanRules(
        inputs=frozenset({"sales.csv"}), procedures=offered_procedures(FACTS), max_steps=5
    )
    context = PlanContext(rules, facts=facts_text(FACTS).text, find_procedure=find)
    planner = StructuredPlanner(FunctionModel(answer))
    return asyncio.run(planner.plan("Report week 48", context)), asked


def test_the_plan_has_the_procedure_s_steps() -> None:
    made, asked = draft({"procedure": "report", "parameters": {"week": 48}})
    [step] = made.plan.steps
    assert (step.procedure, len(asked)) == ("report@3", 1)
    assert step.plan is not None
    assert step.plan.steps[0].prompt == "Sum up week 48 in “Graz”."


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"procedure": "yearly"}, "unknown procedure 'yearly'; there are report"),
        ({"procedure": "report"}, "The parameter week of the procedure report has no value"),
        ({"procedure": "report", "parameters": {"week": "soon"}}, "'soon' is no integer"),
    ],
)
def test_what_is_wrong_with_it_is_said_once(wrong: dict[str, Any], told: str) -> None:
    made, asked = draft(wrong, {"procedure": "report", "parameters": {"week": "48"}})
    assert told in asked[1]
    assert made.plan.steps[0].procedure == "report@3"
    with pytest.raises(NoPlanError, match=told):
        draft(wrong, wrong)


def key(facts: PlanningFacts) -> str:
    request = PlanRequest(run="r", objective="o", model="m", max_steps=3, facts=facts)
    # Prefect hands the context over, which the key doesn't depend on.
    return _key(None, {"request": request.model_dump(mode="json")})  # pyright: ignore[reportArgumentType]


def test_the_key_hangs_on_the_procedures_that_a_plan_may_name() -> None:
    assert key(FACTS) != key(PlanningFacts())
