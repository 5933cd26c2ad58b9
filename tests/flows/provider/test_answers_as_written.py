"""Answers in other forms than asked: reasoning, calls as texts, half characters."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import override_toolsets
from prefect_swarm.errors import Category
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import RunWaitingError
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.catalogue import marked
from provider_runs import ONCE, InTurn, end_at, planned, run_at, serving
from provider_server import Asked, Reply
from pydantic_ai.toolsets import FunctionToolset
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_JSON = plan_of({"id": "S1", "output": {"kind": "json"}})
_CALL = '<tool_call>\n{"name": "depth", "arguments": {"of": "the harbour"}}\n</tool_call>'


def with_tool(output: str = "text") -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You measure.", "tools": ["gauge"]}]
    step = {"id": "S1", "agent": "Reader", "prompt": "Measure.", "output": {"kind": output}}
    return parse_plan({"objective": "Find out", "agents": agents, "steps": [step]})


def gauge(measured: list[Any]) -> FunctionToolset[None]:
    """A toolset whose tool keeps what it was called with."""

    def depth(of: str, marks: list[int] | None = None) -> str:
        """Measure how deep something is."""
        measured.append((of, marks))
        return "9 m"

    tools = FunctionToolset[None]()
    tools.add_function(depth, metadata=marked(acting=True))
    return tools


def measured_at(
    *replies: Reply, output: str = "text"
) -> tuple[SwarmResult, list[Any], list[Asked]]:
    measured: list[Any] = []
    with serving(InTurn(replies)) as server, override_toolsets(gauge=gauge(measured)):
        result = end_at(server, with_tool(output), policy=ONCE, tiers={})
    return result, measured, server.asked


def test_reasoning_is_no_part_of_an_answer_and_the_rule_says_so() -> None:
    with serving(lambda _: Reply("<think>{9}?</think>\n\nIt is 9 m deep.")) as server:
        result = run_at(server, _ONE)
    assert result.answer == "It is 9 m deep."
    (attempt,) = result.steps[0].attempts
    assert attempt.extraction == "whole text, behind reasoning that began with <think>"


def test_a_text_about_reasoning_stays_as_it_is() -> None:
    text = "Models write <think>…</think> before they answer."
    with serving(lambda _: Reply(text)) as server:
        assert run_at(server, _ONE).answer == text


@pytest.mark.parametrize("stream_text", [False, True])
def test_what_was_cut_off_while_it_reasoned_is_no_answer(*, stream_text: bool) -> None:
    replies = InTurn([Reply("<think>Is it 9", finish_reason="length"), Reply("It is deep.")])
    with serving(replies) as server:
        result = run_at(server, _ONE, stream_text=stream_text)
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == (Category.FORMAT, None)
    assert result.answer == "It is deep."


def test_json_within_a_text_is_found() -> None:
    text = 'I measured [twice]: {"depth": 9}. I am done.'
    with serving(lambda _: Reply(text)) as server:
        result = run_at(server, _JSON)
    assert json.loads(result.answer) == {"depth": 9}
    assert result.steps[0].attempts[0].extraction == "the only JSON within the text"


def test_a_call_as_text_is_made_and_its_result_read() -> None:
    result, measured, asked = measured_at(Reply(_CALL), Reply("It is 9 m deep."))
    assert (result.answer, measured) == ("It is 9 m deep.", [("the harbour", None)])
    call, answer = asked[1].body["messages"][-2:]
    assert call["tool_calls"][0]["function"]["name"] == "depth"
    assert (answer["role"], without_marks(answer["content"])) == ("tool", "9 m")


def test_reasoning_before_a_call_is_not_sent_back_as_text() -> None:
    _, measured, asked = measured_at(Reply(f"<think>Hm.</think>{_CALL}"), Reply("9 m"))
    assert measured
    assert "Hm." not in json.dumps(asked[1].body)


@pytest.mark.parametrize(
    "text",
    [
        _CALL.replace("depth", "dredge"),
        _CALL.replace('"the harbour"', '"the "old" harbour"'),
        f"I will measure it.\n{_CALL}",
        '{"name": "dredge", "arguments": {"of": "the harbour"}}',
    ],
)
def test_a_call_that_can_not_be_made_is_no_success(text: str) -> None:
    result, measured, asked = measured_at(Reply(text), Reply("It is 9 m deep."))
    first, second = result.steps[0].attempts
    assert (first.category, second.category, measured) == (Category.FORMAT, None, [])
    assert "with the call of a tool as text" in asked[1].prompt
    assert result.answer == "It is 9 m deep."


def test_json_that_looks_like_a_call_is_an_answer_where_json_is_asked_for() -> None:
    text = '{"name": "dredge", "arguments": {"of": "the harbour"}}'
    result, measured, _ = measured_at(Reply(text), output="json")
    assert (result.answer, measured) == (text, [])


@pytest.mark.parametrize(
    "args",
    [
        '{"of": "the harbour", "marks": "[1, 2]",}',
        '{"arguments": {"of": "the harbour", "Marks": ["1", "2"]}}',
        '"{\\"of\\": \\"the harbour\\", \\"marks\\": [1, 2]}"',
        '```json\n{"of": "the harbour", "marks": [1, 2]}\n```',
    ],
)
def test_arguments_are_made_what_the_tool_takes(args: str) -> None:
    call = Reply(tool_args=args, tool_name="functions.depth")
    result, measured, _ = measured_at(call, Reply("It is 9 m deep."))
    assert measured == [("the harbour", [1, 2])]
    (made,) = result.steps[0].attempts[0].calls
    assert (made.tool, json.loads(made.arguments)["marks"]) == ("depth", [1, 2])


def test_a_person_is_asked_about_the_arguments_that_will_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    call = Reply(tool_args='{"of": "the harbour", "marks": "[1]",}')
    with serving(lambda _: call) as server, override_toolsets(gauge=gauge([])):
        options = SwarmOptions(approve=("tools",), memory=False, model=server.name())
        with pytest.raises(RunWaitingError) as caught:
            asyncio.run(swarm("Find out", plan=with_tool(), options=options))
    (question,) = caught.value.questions
    shown = question.text.partition("```json\n")[2].partition("```")[0]
    assert json.loads(shown) == {"of": "the harbour", "marks": [1]}
    assert "a trailing comma left out" in question.text


@pytest.mark.parametrize("stream_text", [False, True])
def test_half_a_character_is_replaced_and_the_answer_counted(*, stream_text: bool) -> None:
    with serving(lambda _: Reply("It is \ud83d 9 m deep.")) as server:
        result = run_at(server, _ONE, stream_text=stream_text)
    assert result.answer == "It is \ufffd 9 m deep."
    assert result.cost.tokens == 150


def test_half_a_character_in_an_input_is_replaced() -> None:
    with serving(lambda _: Reply("It is 9 m deep.")) as server:
        options = SwarmOptions(memory=False, model=server.name())
        plan = plan_of({"id": "S1", "inputs": ["notes"]})
        inputs = {"notes": "The harbour \ud83d."}
        asyncio.run(swarm(plan.objective, plan=plan, inputs=inputs, options=options))
    assert "The harbour \ufffd." in server.asked[0].prompt


def test_what_was_answered_is_counted_where_it_can_not_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(run: RunFolder, attempt: str, messages: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "write_transcript", full)
    with serving(lambda _: Reply("It is 9 m deep.")) as server:
        result = end_at(server, _ONE, policy=ONCE)
    asked = len(server.asked)
    assert asked > 0
    assert (result.cost.calls, result.cost.tokens) == (asked, asked * 150)


_AGENTS = [{"name": "Reader", "system_prompt": "You read."}]
_TASKS = [{"agent": "reader", "prompt": "Measure.", "output": "text", "gates": None}]
_PLAN = json.dumps({"create_subagent": _AGENTS, "assign_task": _TASKS})


@pytest.mark.parametrize(
    "reply",
    [
        Reply(tool_args=f"```json\n{_PLAN}\n```"),
        Reply(tool_args=json.dumps({"plan": json.loads(_PLAN)})),
        Reply(tool_args=json.dumps(_PLAN)),
        Reply(tool_args=_PLAN[:-1] + ",}", tool_name="default_api.write_plan"),
        Reply(f"<think>One step.</think>{_PLAN}"),
        Reply(f'<tool_call>{{"name": "write_plan", "arguments": {_PLAN}}}</tool_call>'),
    ],
)
@pytest.mark.parametrize("stream_plan", [False, True])
def test_a_plan_that_is_not_written_as_asked_is_no_reason_to_ask_again(
    reply: Reply, *, stream_plan: bool
) -> None:
    def answer(asked: Asked) -> Reply:
        return reply if asked.is_plan else Reply("It is 9 m deep.")

    with serving(answer) as server:
        result = planned(server, "Measure the harbour", stream_plan=stream_plan)
    assert (result.status, len(result.steps)) == ("completed", 1)
    assert len([asked for asked in server.asked if asked.is_plan]) == 1
    assert "read with mending: " in (result.planning.choice or "")
