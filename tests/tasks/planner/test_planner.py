"""Having a model write the plan: sampling again, the repair round, and what fails."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect_swarm.blocks.llama.engine import close_engines
from prefect_swarm.blocks.llama.gguf import demo_model_path
from prefect_swarm.blocks.llama.model import LlamaCppModel
from prefect_swarm.errors import InputError, NoPlanError, PlanError
from prefect_swarm.task_ir import Example, PlanRules, TaskIR, parse_plan
from prefect_swarm.tasks.planner.adapter.line_format import read_lines
from prefect_swarm.tasks.planner.adapter.score import THRESHOLD, score
from prefect_swarm.tasks.planner.planner import PlanDraft, draft_plan
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import RequestUsage
from scripted_local import ScriptedModel

COMPARE = "Compare tea and coffee"
BAD = "1. Expert: Compare tea and coffee"
GOOD = """\
1. Tea Expert: Describe tea
2. Coffee Expert: Describe coffee
3. Judge: Compare tea and coffee (needs 1, 2)"""


def _draft(objective: str, model: Model, **options: Any) -> PlanDraft:
    return asyncio.run(draft_plan(objective, model, **options))


def test_a_good_first_plan_is_taken() -> None:
    model = ScriptedModel(GOOD)
    draft = _draft(COMPARE, model)
    assert [step.agent for step in draft.plan.steps] == ["Tea Expert", "Coffee Expert", "Judge"]
    assert draft.plan.objective == COMPARE
    assert draft.plan.final_step == "S3"
    assert model.settings_of_requests[0]["temperature"] == 0
    assert (draft.usage.requests, draft.usage.input_tokens, draft.usage.output_tokens) == (1, 10, 5)


def test_a_bad_plan_is_sampled_again_and_the_best_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedModel(BAD, "No plan", GOOD)
    with caplog.at_level(logging.INFO, logger="prefect_swarm.tasks.planner.planner"):
        draft = _draft(COMPARE, WrapperModel(model), seed=7)
    assert len(draft.plan.steps) == 3
    assert [candidate.text for candidate in draft.candidates] == [BAD, "No plan", GOOD]
    assert draft.candidates[1].error
    temperatures = [asked["temperature"] for asked in model.settings_of_requests]
    assert temperatures == sorted(temperatures)
    assert len({asked["seed"] for asked in model.settings_of_requests}) == 3
    assert "best of 0.50, unreadable, 1.00" in caplog.text


def test_the_best_of_bad_plans_is_taken() -> None:
    worse = "1. Poet: Sing of the sea\n2. Poet: Dance"
    draft = _draft(COMPARE, ScriptedModel(worse, BAD, worse), samples=3)
    assert draft.plan.steps[0].prompt == "Compare tea and coffee"
    assert draft.score.value < THRESHOLD


def test_what_a_local_model_leaves_out_is_repaired_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, logger="prefect_swarm.tasks.planner.planner"):
        draft = _draft(COMPARE, ScriptedModel(GOOD.replace(" (needs 1, 2)", "")))
    assert draft.plan.steps[2].depends_on == ("S1", "S2")
    assert draft.repairs == ("S3 needs S1, S2, which it joins",)
    assert draft.repairs[0] in caplog.text


def test_the_grammar_keeps_to_the_rules() -> None:
    model = ScriptedModel(BAD, BAD)
    _draft(COMPARE, model, rules=PlanRules(max_steps=2), samples=2)
    assert all("line3" not in asked["llamacpp_grammar"] for asked in model.settings_of_requests)


def test_a_line_that_the_token_limit_cut_off_is_left_out() -> None:
    draft = _draft(COMPARE, ScriptedModel(GOOD[:-15], finish_reason="length"), samples=1)
    assert [step.prompt for step in draft.plan.steps[:2]] == ["Describe tea", "Describe coffee"]
    assert draft.repairs == ("S3 makes the one result that the objective wants",)


def test_a_plan_that_was_broken_off_is_read_as_far_as_it_goes() -> None:
    repeating = f"{GOOD}\n4. Judge: Compare tea and coffee\n5. Judge: Compare tea and coffee\n6. Ju"
    draft = _draft(COMPARE, ScriptedModel(repeating, finish_reason="error"), samples=1)
    assert [step.prompt for step in draft.plan.steps] == [
        "Describe tea",
        "Describe coffee",
        "Compare tea and coffee",
    ]


def test_a_local_model_is_watched_while_it_writes() -> None:
    model = ScriptedModel(GOOD)
    _draft(COMPARE, model)
    watch = model.settings_of_requests[0]["llamacpp_watch"]
    assert watch(GOOD) == ""
    assert watch("1. Poet: Sing of it\n2. Poet: Sing of it\n3. Poet: Sing of it\n")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return write_adapter(tmp_path / "planner.gguf")


def test_an_adapter_is_applied_and_its_model_is_told_the_objective_alone(adapter: Path) -> None:
    model = ScriptedModel(GOOD, adapter=adapter)
    draft = _draft("  Compare   tea\n and\tcoffee ", WrapperModel(model))
    assert model.prompts == ["Split the objective into steps.|Compare tea\nand coffee"]
    assert model.settings_of_requests[0]["llamacpp_adapter"] == str(adapter)
    assert model.settings_of_requests[0]["max_tokens"] == 640
    assert 'more13 ::= ("\\n" line14 more14)?' in model.settings_of_requests[0]["llamacpp_grammar"]
    assert draft.adapter == adapter


def test_the_same_model_without_it_is_shown_examples(adapter: Path) -> None:
    model = ScriptedModel(GOOD, adapter=adapter)
    draft = _draft(COMPARE, model, adapter=False)
    assert "llamacpp_adapter" not in model.settings_of_requests[0]
    assert "Compare tea, coffee and water" in model.prompts[0]
    assert draft.adapter is None


def test_the_threshold_says_which_plan_is_good_enough() -> None:
    assert len(_draft(COMPARE, ScriptedModel(BAD), threshold=0.0).candidates) == 1
    assert len(_draft(COMPARE, ScriptedModel(GOOD, GOOD, GOOD), threshold=1.1).candidates) == 3


def test_with_an_adapter_all_further_plans_are_written_at_once(adapter: Path) -> None:
    texts = [BAD, BAD, GOOD, BAD, GOOD, GOOD]
    model = ScriptedModel(*texts, adapter=adapter)
    draft = _draft(COMPARE, model)
    assert len(draft.plan.steps) == 3
    assert draft.alike == 3
    assert [candidate.text for candidate in draft.candidates] == texts
    assert [asked["temperature"] for asked in model.settings_of_requests] == [
        0.0,
        0.4,
        0.6,
        0.8,
        0.8,
        0.8,
    ]
    assert model.most_at_once == 5
    assert draft.usage.requests == 6


def test_without_one_they_are_written_one_by_one() -> None:
    model = ScriptedModel(BAD, BAD, GOOD)
    _draft(COMPARE, model)
    assert model.most_at_once == 1


def test_with_an_adapter_a_plan_has_to_be_better_to_be_taken_at_once(adapter: Path) -> None:
    fair = GOOD.replace("Describe coffee", "Describe coffee in the attic")
    draft = _draft(COMPARE, ScriptedModel(fair, *[GOOD] * 5, adapter=adapter))
    assert 0.75 < score(read_lines(fair, COMPARE), COMPARE).value < 0.85
    assert draft.candidates[0].text == fair
    assert draft.score.value == 1.0
    assert len(_draft(COMPARE, ScriptedModel(fair)).candidates) == 1


def test_of_plans_that_score_alike_the_one_with_fewer_steps_is_taken(adapter: Path) -> None:
    longer = f"{GOOD}\n4. Editor: Write tea or coffee (needs 3)"
    for texts in ((longer, GOOD), (GOOD, longer)):
        draft = _draft(COMPARE, ScriptedModel(*texts, adapter=adapter), samples=2, threshold=1.1)
        assert len({candidate.score for candidate in draft.candidates}) == 1
        assert len(draft.plan.steps) == 3


@pytest.mark.parametrize("text", ["", "I can't do that."])
def test_no_readable_plan_is_a_plan_error_with_the_text(text: str) -> None:
    with pytest.raises(NoPlanError) as caught:
        _draft(COMPARE, ScriptedModel(text, text), samples=2)
    assert caught.value.text == text
    assert caught.value.exit_code == 1, "it is the model's failure, not wrong usage"


@pytest.mark.parametrize("objective", ["", " \n "])
def test_an_empty_objective_is_refused(objective: str) -> None:
    with pytest.raises(InputError, match="empty"):
        _draft(objective, ScriptedModel())


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


@pytest.mark.model
def test_an_adapter_changes_the_embedded_models_plan_and_nothing_where_it_is_not_wanted(
    tmp_path: Path,
) -> None:
    def text(chosen: Path | None, **options: Any) -> str:
        model = LlamaCppModel(demo_model_path(), planner_adapter=chosen)
        try:
            draft = _draft(COMPARE, model, samples=1, max_tokens=60, **options)
        except NoPlanError as error:
            return error.text
        return draft.candidates[0].text

    some = write_adapter(tmp_path / "some.gguf")
    nothing = write_adapter(tmp_path / "nothing.gguf", scale=0.0)
    try:
        assert text(some) != text(nothing)
        assert text(some, adapter=False) == text(None)
    finally:
        close_engines()


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
