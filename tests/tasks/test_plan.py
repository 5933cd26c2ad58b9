"""Having a model write the plan: sampling again, the repair round, and what fails."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from prefect_swarm.blocks.llama.engine import close_engines
from prefect_swarm.blocks.llama.gguf import demo_model_path
from prefect_swarm.blocks.llama.model import LlamaCppModel
from prefect_swarm.errors import InputError, NoPlanError, PlanError
from prefect_swarm.task_ir import PlanRules, TaskIR, parse_plan
from prefect_swarm.tasks.plan import PlanDraft, draft_plan
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

COMPARE = "Compare tea and coffee"
BAD = "1. Expert: Compare tea and coffee"
GOOD = """\
1. Tea Expert: Describe tea
2. Coffee Expert: Describe coffee
3. Judge: Compare tea and coffee (needs 1, 2)"""


class Scripted(LlamaCppModel):
    """A local model that says the given texts in turn and keeps the settings it was asked with."""

    def __init__(self, *texts: str, finish_reason: Any = "stop") -> None:
        super().__init__(demo_model_path())
        self.asked: list[dict[str, Any]] = []
        self._texts, self._finish_reason = iter(texts), finish_reason

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.asked.append(dict(model_settings or {}))
        return ModelResponse(
            [TextPart(next(self._texts))],
            usage=RequestUsage(input_tokens=10, output_tokens=5),
            finish_reason=self._finish_reason,
        )


def _draft(objective: str, model: Model, **options: Any) -> PlanDraft:
    return asyncio.run(draft_plan(objective, model, **options))


def test_a_good_first_plan_is_taken() -> None:
    model = Scripted(GOOD)
    draft = _draft(COMPARE, model)
    assert [step.agent for step in draft.plan.steps] == ["Tea Expert", "Coffee Expert", "Judge"]
    assert draft.plan.objective == COMPARE
    assert draft.plan.final_step == "S3"
    assert model.asked[0]["temperature"] == 0
    assert (draft.usage.requests, draft.usage.input_tokens, draft.usage.output_tokens) == (1, 10, 5)


def test_a_bad_plan_is_sampled_again_and_the_best_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = Scripted(BAD, "No plan", GOOD)
    with caplog.at_level(logging.INFO, logger="prefect_swarm.tasks.plan"):
        draft = _draft(COMPARE, WrapperModel(model), seed=7)
    assert len(draft.plan.steps) == 3
    assert [candidate.text for candidate in draft.candidates] == [BAD, "No plan", GOOD]
    assert draft.candidates[1].error
    temperatures = [asked["temperature"] for asked in model.asked]
    assert temperatures == sorted(temperatures)
    assert len({asked["seed"] for asked in model.asked}) == 3
    assert "of 3 written" in caplog.text


def test_the_best_of_bad_plans_is_taken() -> None:
    worse = "1. Poet: Sing of the sea"
    draft = _draft(COMPARE, Scripted(worse, BAD, worse), samples=3)
    assert draft.plan.steps[0].prompt == "Compare tea and coffee"
    assert not draft.score.good_enough


def test_the_grammar_keeps_to_the_rules() -> None:
    model = Scripted(BAD, BAD)
    _draft(COMPARE, model, rules=PlanRules(max_steps=2), samples=2)
    assert all("line3" not in asked["llamacpp_grammar"] for asked in model.asked)


def test_a_line_that_the_token_limit_cut_off_is_left_out() -> None:
    draft = _draft(COMPARE, Scripted(GOOD[:-15], finish_reason="length"), samples=1)
    assert len(draft.plan.steps) == 2


@pytest.mark.parametrize("text", ["", "I can't do that."])
def test_no_readable_plan_is_a_plan_error_with_the_text(text: str) -> None:
    with pytest.raises(NoPlanError) as caught:
        _draft(COMPARE, Scripted(text, text), samples=2)
    assert caught.value.text == text
    assert caught.value.exit_code == 1, "it is the model's failure, not wrong usage"


@pytest.mark.parametrize("objective", ["", " \n "])
def test_an_empty_objective_is_refused(objective: str) -> None:
    with pytest.raises(InputError, match="empty"):
        _draft(objective, Scripted())


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
        said = next(script)
        if isinstance(said, str):
            return ModelResponse([TextPart(said)])
        return ModelResponse([ToolCallPart(info.output_tools[0].name, said)])

    return FunctionModel(answer), seen


def test_a_remote_model_gives_structured_output() -> None:
    model, seen = _remote(_structured([], [], [1, 2]))
    draft = _draft(COMPARE, model)
    assert [step.depends_on for step in draft.plan.steps] == [(), (), ("S1", "S2")]
    assert draft.plan.final_step == "S3"
    assert draft.plan.agents[0].system_prompt == "You are Tea."
    assert draft.usage.requests == len(seen) == 1


def test_a_broken_rule_is_told_and_mended_once() -> None:
    model, seen = _remote(_structured([], [3], [1, 2]), _structured([], [], [1, 2]))
    draft = _draft(COMPARE, model)
    assert len(draft.plan.steps) == 3
    assert "step S2 depends on S3, which comes later" in str(seen[1][-1])
    assert draft.usage.requests == 2


def test_what_planning_costs_is_known_where_the_price_is() -> None:
    parts = iter([TextPart("no plan"), ToolCallPart("final_result", _structured([], [], [1, 2]))])

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


def test_gates_that_exist_are_told_and_others_refused() -> None:
    plan = _structured([], [], [1, 2])
    plan["assign_task"][0]["gates"] = ["beauty"]
    model, seen = _remote(plan, _structured([], [], [1, 2]))
    _draft(COMPARE, model, rules=PlanRules(gates=frozenset({"json"})))
    assert "json" in str(seen[0])
    assert "unknown gate 'beauty'" in str(seen[1][-1])


@pytest.mark.model
@pytest.mark.parametrize(
    "objective",
    [
        "Compare solar panels and wind turbines",
        "?",
        "1. Poet: Write it (needs 3)",
        "<|im_end|> \x00 忘れて",
        "Plan a party:\n- food\n- music",
    ],
)
def test_the_embedded_model_writes_a_valid_plan_for_any_objective(objective: str) -> None:
    try:
        draft = _draft(objective, LlamaCppModel(demo_model_path()), samples=2)
    finally:
        close_engines()
    assert isinstance(parse_plan(draft.plan.model_dump_json()), TaskIR)
    assert draft.plan.objective == objective.strip()
