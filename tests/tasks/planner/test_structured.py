"""Plans as structured output: taken as they are written, with one repair, and what fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from prefect_swarm.errors import InputError, NoPlanError, PlanError
from prefect_swarm.plan.task_ir import Example, PlanRules
from prefect_swarm.tasks.planner.conversation import PlanContext, PlanDraft, instructions
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from pydantic_ai.exceptions import ModelAuthenticationError, ModelRequestRejectedError
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

COMPARE = "Compare tea and coffee"


def _draft(objective: str, model: Model, **rules: Any) -> PlanDraft:
    context = PlanContext(PlanRules(**rules))
    return asyncio.run(StructuredPlanner(model).plan(objective, context))


def _structured(*needs: list[int], agents: tuple[str, ...] = ("Tea", "Judge")) -> dict[str, Any]:
    prompts = ("Describe tea", "Describe coffee", "Compare tea and coffee")
    return {
        "create_subagent": [{"name": name, "system_prompt": f"You are {name}."} for name in agents],
        "assign_task": [
            {"agent": agent, "prompt": prompt, "depends_on": list(need)}
            for agent, prompt, need in zip(("Tea", "Tea", "Judge"), prompts, needs, strict=True)
        ],
    }


def _remote(*answers: dict[str, Any] | str) -> tuple[FunctionModel, list[list[ModelMessage]]]:
    script: Iterator[dict[str, Any] | str] = iter(answers)
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append([*messages])
        answer = next(script)
        if isinstance(answer, str):
            return ModelResponse([TextPart(answer)])
        return ModelResponse([ToolCallPart(info.output_tools[0].name, answer)])

    return FunctionModel(answer), seen


def test_a_remote_model_gives_structured_output() -> None:
    model, seen = _remote(_structured([], [], [1, 2]))
    draft = _draft(COMPARE, model)
    assert [step.depends_on for step in draft.plan.steps] == [(), (), ("S1", "S2")]
    assert draft.plan.final_step == "S3"
    assert draft.plan.agents[0].system_prompt == "You are Tea."
    assert draft.usage.requests == len(seen) == 1


def test_a_broken_rule_is_reported_and_fixed_once() -> None:
    model, seen = _remote(_structured([], [3], [1, 2]), _structured([], [], [1, 2]))
    draft = _draft(COMPARE, model)
    assert len(draft.plan.steps) == 3
    assert "step S2 depends on S3, which comes later" in str(seen[1][-1])
    assert draft.usage.requests == 2


def test_what_planning_costs_is_known_where_the_price_is() -> None:
    parts = iter([TextPart("no plan"), ToolCallPart("write_plan", _structured([], [], [1, 2]))])

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        usage = RequestUsage(input_tokens=1_000_000)
        return ModelResponse([next(parts)], usage=usage, provider_name="openai")

    draft = _draft(COMPARE, FunctionModel(answer, model_name="gpt-4o"))
    assert draft.usage.requests == 2
    assert draft.usage.cost_usd is not None
    assert draft.usage.cost_usd > 1


def test_a_rule_broken_twice_is_a_plan_error_with_the_text() -> None:
    broken = _structured([], [], [1, 2], agents=("Tea",))
    model, seen = _remote(broken, broken)
    with pytest.raises(PlanError, match="unknown agent 'Judge'") as caught:
        _draft(COMPARE, model)
    assert json.loads(caught.value.text)["create_subagent"] == [
        {"name": "Tea", "system_prompt": "You are Tea."}
    ]
    assert len(seen) == 2


def test_an_answer_that_is_no_structure_is_a_plan_error_with_the_text() -> None:
    model, _ = _remote("Just drink tea.", "Just drink tea.")
    with pytest.raises(PlanError) as caught:
        _draft(COMPARE, model)
    assert caught.value.text == "Just drink tea."


def test_planners_are_told_when_one_assignment_is_enough() -> None:
    how = " ".join(instructions(PlanRules()).split())
    assert "One assignment is enough for a simple objective" in how
    assert "one chain of look-ups in which each needs the one before" in how


def test_gates_that_exist_are_told_and_others_refused() -> None:
    plan = _structured([], [], [1, 2])
    plan["assign_task"][0]["gates"] = ["beauty"]
    model, seen = _remote(plan, _structured([], [], [1, 2]))
    _draft(COMPARE, model, gates=frozenset({"json"}))
    assert "json" in str(seen[0])
    assert "unknown gate 'beauty'" in str(seen[1][-1])


def test_a_remote_model_may_say_what_an_output_is_held_against() -> None:
    plan = _structured([], [], [1, 2])
    plan["assign_task"][0]["output"] = {
        "kind": "python",
        "examples": [{"call": "brew(3)", "gives": '{"minutes": 3}'}],
    }
    plan["assign_task"][1]["output"] = {"kind": "json", "json_schema": '{"type": "object"}'}
    plan["assign_task"][2]["output"] = {"sections": ["Taste"], "max_words": 90}
    draft = _draft(COMPARE, _remote(plan)[0])
    first, second, third = (step.output for step in draft.plan.steps)
    assert first.examples == (Example(call="brew(3)", gives={"minutes": 3}),)
    assert second.json_schema == {"type": "object"}
    assert (third.kind, third.sections, third.max_words) == ("text", ("Taste",), 90)


def test_an_example_whose_value_is_not_valid_json_is_reported_and_fixed() -> None:
    plan = _structured([], [], [1, 2])
    example = {"call": "brew(3)", "gives": "three"}
    plan["assign_task"][0]["output"] = {"kind": "python", "examples": [example]}
    model, seen = _remote(plan, _structured([], [], [1, 2]))
    _draft(COMPARE, model)
    assert "step S1.output.examples.0.gives: 'three' is not valid JSON" in str(seen[1][-1])


def test_a_valid_plan_is_taken_whatever_its_words_are() -> None:
    plan = _structured([], [], [1, 2])
    plan["assign_task"][1]["prompt"] = "Fahre nach Kyōto,\nzähle `42` Tempel – and say “why”."
    model, seen = _remote(plan)
    draft = _draft(COMPARE, model)
    assert draft.plan.steps[1].prompt == plan["assign_task"][1]["prompt"]
    assert (draft.score, draft.origin, len(seen)) == (None, "as the model wrote it", 1)


@pytest.mark.parametrize("text", ["{}", "Here it is:\n```json\n{}\n```\nGood luck!"])
def test_a_plan_in_the_text_counts_as_one(text: str) -> None:
    written = json.dumps(_structured([], [], [1, 2]))
    model, seen = _remote(text.replace("{}", written))
    assert len(_draft(COMPARE, model).plan.steps) == 3
    assert len(seen) == 1


def test_a_call_of_a_tool_that_is_not_there_is_reported_and_fixed() -> None:
    plans = iter(["search", "write_plan"])

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart(next(plans), _structured([], [], [1, 2]))])

    draft = _draft(COMPARE, FunctionModel(answer))
    assert draft.origin == "after one repair: There is no tool 'search'."


def _ending(finish: FinishReason, **details: Any) -> FunctionModel:
    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        text = json.dumps(_structured([], [], [1, 2]))
        return ModelResponse([TextPart(text)], finish_reason=finish, provider_details=details)

    return FunctionModel(answer)


def test_a_plan_that_was_cut_off_is_no_plan() -> None:
    with pytest.raises(NoPlanError, match="cut off before its end"):
        _draft(COMPARE, _ending("length"))


def test_a_refusal_is_said_in_the_models_words_and_not_repaired() -> None:
    with pytest.raises(NoPlanError, match="refuses to plan: That would be harmful"):
        _draft(COMPARE, _ending("content_filter", refusal="That would be harmful."))


def test_a_server_without_tools_is_asked_for_json_instead() -> None:
    modes: list[str] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        modes.append(info.model_request_parameters.output_mode)
        if info.output_tools:
            raise ModelRequestRejectedError("small", "tools are not supported")
        return ModelResponse([TextPart(json.dumps(_structured([], [], [1, 2])))])

    assert len(_draft(COMPARE, FunctionModel(answer)).plan.steps) == 3
    assert modes == ["tool", "prompted"]


def test_a_wrong_key_is_not_taken_for_a_server_without_tools() -> None:
    asked: list[int] = []

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        asked.append(1)
        raise ModelAuthenticationError("small", "invalid key")

    with pytest.raises(ModelAuthenticationError):
        _draft(COMPARE, FunctionModel(answer))
    assert len(asked) == 1


@pytest.mark.parametrize("objective", ["", " \n "])
def test_an_empty_objective_is_refused(objective: str) -> None:
    with pytest.raises(InputError, match="empty"):
        _draft(objective, _remote()[0])
