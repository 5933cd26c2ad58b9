"""A plan is taken as models write it, where that has one meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import PlanRules, TaskIR
from prefect_swarm.tasks.planner.partial import PlanText, plan_so_far
from prefect_swarm.tasks.planner.written import ReadPlan, read_answer
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

AGENTS = [{"name": "Reader", "system_prompt": "You read."}]
TASKS: list[dict[str, Any]] = [
    {"agent": "Reader", "prompt": "Measure the harbour."},
    {"agent": "Reader", "prompt": "Compare.", "depends_on": [1]},
]
PLAN = {"create_subagent": AGENTS, "assign_task": TASKS}
WHOLE = json.dumps(PLAN)
RULES = PlanRules()


def read(*parts: TextPart | ToolCallPart) -> ReadPlan:
    return read_answer(ModelResponse(list(parts)), "Measure harbours", RULES)


def called(args: str | dict[str, Any], name: str = "write_plan") -> TaskIR:
    return read(ToolCallPart(name, args)).plan


PLANNED = called(PLAN)


def with_first(**changes: Any) -> str:
    return json.dumps({**PLAN, "assign_task": [{**TASKS[0], **changes}, TASKS[1]]})


@pytest.mark.parametrize(
    "args",
    [
        f"```json\n{WHOLE}\n```",
        f"Here is the plan:\n{WHOLE}\nI hope it helps.",
        WHOLE[:-1] + ",}",
        WHOLE[:-1],
        WHOLE + "}",
        WHOLE.replace("{", "{ // a plan\n", 1),
        json.dumps({"plan": PLAN}),
        json.dumps({"write_plan": PLAN}),
        json.dumps({"name": "write_plan", "arguments": PLAN}),
        json.dumps({"arguments": WHOLE}),
        json.dumps(WHOLE),
        json.dumps(json.dumps(WHOLE)),
        json.dumps({"create_subagent": json.dumps(AGENTS), "assign_task": json.dumps(TASKS)}),
        json.dumps({"create_subagent": AGENTS[0], "assign_task": TASKS}),
        json.dumps({"createSubagent": AGENTS, "AssignTask": TASKS}),
        with_first(output=None, gates=None, depends_on=None, inputs=None),
        with_first(output="text"),
        with_first(output={"kind": "TEXT", "sections": None, "json_schema": None}),
        with_first(agent="reader"),
        with_first(agent="READER"),
        WHOLE.replace("[1]", '"[1]"'),
        WHOLE.replace("[1]", '["1"]'),
        WHOLE.replace("[1]", '["S1"]'),
        WHOLE.replace("[1]", "1"),
        WHOLE.replace("[1]", '"1"'),
        WHOLE.replace('"worker"', '"Worker"'),
    ],
)  # fmt: skip
def test_arguments_are_read_as_they_are_meant(args: str) -> None:
    assert called(args) == PLANNED


def test_a_raw_line_break_in_a_prompt_is_a_line_break() -> None:
    plan = called(WHOLE.replace("Measure the", "Measure\nthe"))
    assert plan.steps[0].prompt == "Measure\nthe harbour."


def test_a_schema_and_a_value_may_be_written_as_json() -> None:
    schema = {"type": "object"}
    plan = called(with_first(output={"kind": "json", "json_schema": schema}))
    assert plan.steps[0].output.json_schema == schema
    examples = [{"call": "f(1)", "gives": [2, None]}]
    plan = called(with_first(output={"kind": "python", "examples": examples}))
    assert plan.steps[0].output.examples[0].gives == [2, None]


def test_half_a_character_is_replaced() -> None:
    plan = called(WHOLE.replace("Measure the", "Measure \\ud83d the"))
    assert plan.steps[0].prompt == "Measure \ufffd the harbour."


@pytest.mark.parametrize(
    "name", ["functions.write_plan", "default_api:write_plan", "tool_write_plan", "WritePlan"]
)
def test_the_tools_name_may_have_a_prefix_or_another_case(name: str) -> None:
    assert called(WHOLE, name) == PLANNED


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"<think>Two {{steps}}.</think>\n{WHOLE}",
        f"Two steps.\n</think>\n\n{WHOLE}",
        f'<tool_call>{{"name": "write_plan", "arguments": {WHOLE}}}</tool_call>',
        f"<function=write_plan>{WHOLE}</function>",
        f"<|channel|>commentary to=functions.write_plan<|message|>{WHOLE}<|call|>",
        f"I will decompose it.\n\n{WHOLE}",
    ],
)
def test_a_plan_in_the_text_is_read(text: str) -> None:
    assert read(TextPart(text)).plan == PLANNED


def test_what_was_mended_is_said() -> None:
    assert read(ToolCallPart("write_plan", WHOLE)).mended == ()
    assert "a trailing comma left out" in read(ToolCallPart("write_plan", WHOLE[:-1] + ",}")).mended


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (WHOLE.replace(" the", ' "the"'), "not JSON, at line 1, column"),
        (json.dumps({"create_subagent": AGENTS}), "assign_task is missing"),
        (json.dumps([1]), "the plan is a list, and has to be an object in { }"),
        (with_first(depends_on=["the first"]), "assignment 1: depends_on.0 is 'the first'"),
        (with_first(output={"kind": "poem"}), "output.kind is 'poem', and has to be 'text'"),
        (with_first(prompt=None), "assignment 1: prompt is null, and has to be a text"),
        (with_first(prompt={"a": 1}), "assignment 1: prompt is an object, and has to be a text"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_said_with_its_place(args: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        called(args)
    assert problem in str(caught.value)
    assert "Field required" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        json.dumps({"plan": PLAN}),
        f"<think>{{Two}} steps.</think>```json\n{WHOLE}\n```",
        json.dumps({"createSubagent": AGENTS, "assignTask": TASKS}),
        WHOLE.replace("Measure the", "Measure\nthe"),
        with_first(output="text", agent="reader"),
    ],
)
def test_the_steps_of_a_plan_are_known_while_it_is_written(text: str) -> None:
    written = PlanText()
    counts = set[int]()
    for character in text:
        if written.add(character):
            found = plan_so_far(written, "Measure harbours")
            counts.add(len(found.steps) if found else 0)
    assert counts >= {1, 2}
    whole = plan_so_far(written, "Measure harbours")
    assert whole is not None
    assert whole.steps == read(TextPart(text)).plan.steps
