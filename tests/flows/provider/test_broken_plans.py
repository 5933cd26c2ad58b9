"""A plan that breaks a rule is repaired once, or the run says what was wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from prefect_swarm.errors import NoPlanError
from prefect_swarm.plan.task_ir import MAX_STEPS
from provider_runs import InTurn, planned, serving
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def task(number: int, *needs: int, agent: str = "Reader") -> dict[str, Any]:
    prompt = f"Measure harbour {number}."
    return {"agent": agent, "prompt": prompt, "depends_on": list(needs)}


def written(*tasks: dict[str, Any]) -> dict[str, Any]:
    reader = {"name": "Reader", "system_prompt": "You read closely."}
    return {"create_subagent": [reader], "assign_task": list(tasks)}


_VALID = written(task(1), task(2, 1))
_MANY = written(*(task(number) for number in range(1, MAX_STEPS + 100)))
_BROKEN = [
    pytest.param(
        Reply(tool_args=written(task(1, 2), task(2, 1))),
        "step S1 depends on S2, which comes later",
        id="cycle",
    ),
    pytest.param(
        Reply(tool_args=written(task(1, 1))), "step S1 depends on itself", id="circle-of-one"
    ),
    pytest.param(
        Reply(tool_args=written(task(1, 7))),
        "step S1 depends on S7, which is not a step of the plan",
        id="unknown-step",
    ),
    pytest.param(
        Reply(tool_args=written(task(1, agent="Diver"))),
        "step S1 is assigned to an unknown agent 'Diver'",
        id="unknown-agent",
    ),
    pytest.param(
        Reply(tool_args=_MANY), f"steps are more than the limit of {MAX_STEPS}", id="many-steps"
    ),
    pytest.param(
        Reply(tool_args=_VALID, tool_name="search"), "There is no tool 'search'", id="unknown-tool"
    ),
    pytest.param(
        Reply(tool_args='{"create_subagent": ["Read" closely]}'),
        'That is not a plan: it is not JSON, at line 1, column 29: expected "," or "]", found '
        "'closely]}' behind '{\"create_subagent\": [\"Read\" '",
        id="malformed-arguments",
    ),
    pytest.param(
        Reply(tool_args="{}"),
        "create_subagent is missing; it has to be the list of subagents, each with name and",
        id="empty-arguments",
    ),
    pytest.param(
        Reply(tool_args=written({"agent": "Reader", "prompt": ["Measure."]})),
        "assignment 1: prompt is a list, and has to be a text in quotation marks",
        id="a-list-for-a-text",
    ),
    pytest.param(
        Reply("<think>Two harbours, so two steps."),
        "The answer has reasoning and no plan",
        id="reasoning-alone",
    ),
    pytest.param(Reply("Just measure them."), "That is not a plan", id="text"),
    pytest.param(Reply(""), "The answer is empty", id="nothing"),
    pytest.param(
        Reply(tool_args=json.dumps(_VALID)[:60], finish_reason="length"),
        "The plan was cut off before its end",
        id="cut-off",
    ),
]

each_fault = pytest.mark.parametrize(("broken", "words"), _BROKEN)


def steps_work(plan: InTurn) -> Callable[[Asked], Reply]:
    """Answer steps, and requests for a plan in turn."""
    return lambda asked: plan(asked) if asked.is_plan else Reply("It is 9 m deep.")


def plans(asked: list[Asked]) -> list[Asked]:
    return [each for each in asked if each.is_plan]


@each_fault
def test_a_broken_plan_is_repaired_once(broken: Reply, words: str) -> None:
    with serving(steps_work(InTurn([broken, Reply(tool_args=_VALID)]))) as server:
        result = planned(server, "Measure the harbours")
    assert (result.status, len(result.steps)) == ("completed", 2)
    first, second = plans(server.asked)
    assert words in second.prompt
    assert first.prompt.startswith("Measure the harbours\n")
    assert words not in first.prompt


@each_fault
def test_a_plan_that_stays_broken_says_what_is_wrong(broken: Reply, words: str) -> None:
    with serving(steps_work(InTurn([broken]))) as server, pytest.raises(NoPlanError) as caught:
        planned(server, "Measure the harbours")
    assert words in str(caught.value)
    # Steps may have started while the plan was being written.
    assert len(plans(server.asked)) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(refusal="I can't help with that."),
        Reply("I can't help with that."),
        Reply(finish_reason="content_filter"),
    ],
    ids=["field", "words", "filter"],
)
def test_a_refusal_to_plan_is_not_asked_for_again(refusal: Reply) -> None:
    with serving(lambda _: refusal) as server, pytest.raises(NoPlanError) as caught:
        planned(server, "Measure the harbours")
    assert "The model refuses to plan: " in str(caught.value)
    assert (refusal.refusal or refusal.text) in str(caught.value)
    assert len(server.asked) == 1


def test_what_planning_took_is_counted() -> None:
    broken = Reply("No plan.", input_tokens=40, output_tokens=4)
    valid = Reply(tool_args=_VALID, input_tokens=60, output_tokens=6)
    with serving(steps_work(InTurn([broken, valid]))) as server:
        result = planned(server, "Measure the harbours")
    usage = result.planning.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 100, 10)
    steps = 2
    assert (result.cost.calls, result.cost.tokens) == (2 + steps, 110 + steps * 150)


def test_what_the_orchestrator_can_not_plan_the_coders_model_may() -> None:
    def reply(asked: Asked) -> Reply:
        if asked.is_plan:
            is_strong = asked.body["model"] == "strong-model"
            return Reply("No plan.") if is_strong else Reply(tool_args=_VALID)
        return Reply("It is 9 m deep.")

    with serving(reply) as server:
        result = planned(server, "Measure the harbours", coder=server.name("other-model"))
    assert (result.status, result.planning.model) == ("completed", "other-model")
