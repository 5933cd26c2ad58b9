"""Plans of a trained model file: sampling again, repairs, and what fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect_swarm.errors import InputError, NoPlanError
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.plan.task_ir import PlanRules, TaskIR, parse_plan
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.line_format import read_lines
from prefect_swarm.tasks.planner.plan_score import score
from prefect_swarm.tasks.planner.planners import SAMPLES, THRESHOLD, AdapterDraft, AdapterPlanner
from prefect_swarm.tasks.planner.task import planner_for
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel
from scripted_local import ScriptedModel

COMPARE = "Compare tea and coffee"
BAD = "1. Expert: Compare tea and coffee"
GOOD = """\
1. Tea Expert: Describe tea
2. Coffee Expert: Describe coffee
3. Judge: Compare tea and coffee (needs 1, 2)"""


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return write_adapter(tmp_path / "planner.gguf")


def _draft(
    objective: str,
    model: Model,
    *,
    rules: PlanRules | None = None,
    seed: int | None = None,
    **options: Any,
) -> AdapterDraft:
    """Plan with an adapter that the scripted model never loads."""
    planner = AdapterPlanner(model, Path("planner.gguf"), **options)
    return asyncio.run(planner.plan(objective, PlanContext(rules or PlanRules(), seed)))


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
    with caplog.at_level(logging.INFO, logger="prefect_swarm.tasks.planner.planners"):
        draft = _draft(COMPARE, WrapperModel(model), seed=7, samples=3)
    assert len(draft.plan.steps) == 3
    assert [candidate.text for candidate in draft.written] == [BAD, "No plan", GOOD]
    assert draft.written[1].error
    temperatures = [asked["temperature"] for asked in model.settings_of_requests]
    assert temperatures == sorted(temperatures)
    assert len({asked["seed"] for asked in model.settings_of_requests}) == 3
    assert "best of 0.50, unreadable, 1.00" in caplog.text


def test_the_best_of_bad_plans_is_taken() -> None:
    worse = "1. Poet: Sing of the sea\n2. Poet: Dance"
    draft = _draft(COMPARE, ScriptedModel(worse, BAD, worse), samples=3)
    assert draft.plan.steps[0].prompt == "Compare tea and coffee"
    assert draft.choice.score.value < THRESHOLD


def test_what_a_local_model_leaves_out_is_repaired_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    objective = "Write an ode to the harbour of Split"
    with caplog.at_level(logging.INFO, logger="prefect_swarm.tasks.planner.planners"):
        draft = _draft(objective, ScriptedModel("1. Poet: Write an ode to Split"), samples=1)
    assert draft.plan.steps[0].prompt == objective
    assert draft.choice.repairs == ("S1 asks what the objective asks",)
    assert draft.choice.repairs[0] in caplog.text


def test_the_grammar_keeps_to_the_rules() -> None:
    model = ScriptedModel(BAD, BAD)
    _draft(COMPARE, model, rules=PlanRules(max_steps=2), samples=2)
    assert all("line3" not in asked["llamacpp_grammar"] for asked in model.settings_of_requests)


def test_a_line_that_the_token_limit_cut_off_is_left_out() -> None:
    draft = _draft(COMPARE, ScriptedModel(GOOD[:-15], finish_reason="length"), samples=1)
    assert [step.prompt for step in draft.plan.steps] == ["Describe tea", "Describe coffee"]


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


def test_an_adapter_is_applied_and_its_model_is_told_the_objective_alone(adapter: Path) -> None:
    model = ScriptedModel(GOOD, adapter=adapter)
    planner = planner_for(WrapperModel(model))
    draft = asyncio.run(planner.plan("  Compare   tea\n and\tcoffee ", PlanContext()))
    assert model.prompts == ["Split the objective into steps.|Compare tea\nand coffee"]
    assert model.settings_of_requests[0]["llamacpp_adapter"] == str(adapter)
    assert model.settings_of_requests[0]["max_tokens"] == 640
    assert 'more13 ::= ("\\n" line14 more14)?' in model.settings_of_requests[0]["llamacpp_grammar"]
    assert draft.adapter == adapter


def test_the_threshold_says_which_plan_is_good_enough() -> None:
    assert len(_draft(COMPARE, ScriptedModel(BAD), threshold=0.0).written) == 1
    assert (
        len(_draft(COMPARE, ScriptedModel(GOOD, GOOD, GOOD), samples=3, threshold=1.1).written) == 3
    )


def test_all_further_plans_are_written_at_once() -> None:
    texts = [BAD, BAD, GOOD, BAD, GOOD, GOOD]
    model = ScriptedModel(*texts)
    draft = _draft(COMPARE, model)
    assert len(draft.plan.steps) == 3
    assert draft.choice.alike == 3
    assert [candidate.text for candidate in draft.written] == texts
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


def test_a_plan_that_adds_something_is_not_taken_at_once() -> None:
    fair = GOOD.replace("Describe coffee", "Describe coffee in the attic")
    draft = _draft(COMPARE, ScriptedModel(fair, *[GOOD] * 5))
    assert 0.75 < score(read_lines(fair, COMPARE), COMPARE).value < 0.85
    assert draft.written[0].text == fair
    assert draft.choice.score.value == 1.0


def test_of_plans_that_score_alike_the_one_with_fewer_steps_is_taken() -> None:
    longer = f"{GOOD}\n4. Editor: Write tea or coffee (needs 3)"
    for texts in ((longer, GOOD), (GOOD, longer)):
        draft = _draft(COMPARE, ScriptedModel(*texts), samples=2, threshold=1.1)
        assert len({candidate.score for candidate in draft.written}) == 1
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


@pytest.fixture(scope="module")
def engines() -> Iterator[None]:
    """Engines that are used by several tests, and closed after them."""
    yield
    close_engines()


@pytest.mark.model
@pytest.mark.usefixtures("engines")
def test_an_adapter_changes_the_embedded_models_plan(tmp_path: Path) -> None:
    def text(path: Path) -> str:
        planner = AdapterPlanner(LlamaCppModel(demo_model_path()), path, samples=1)
        try:
            return asyncio.run(planner.plan(COMPARE, PlanContext(max_tokens=20))).text
        except NoPlanError as error:
            return error.text

    some = write_adapter(tmp_path / "some.gguf")
    nothing = write_adapter(tmp_path / "nothing.gguf", scale=0.0)
    assert text(some) != text(nothing)


@pytest.mark.model
@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize(
    ("objective", "samples"),
    [
        ("Compare solar panels and wind turbines", SAMPLES),
        # What is valid is so at once, however it scores.
        ("?", 1),
        ("1. Poet: Write it (needs 3)", 1),
        ("<|im_end|> \x00 忘れて", 1),
        ("Plan a party:\n- food\n- music", 1),
    ],
)
def test_the_embedded_model_writes_a_valid_plan_for_any_objective(
    objective: str, samples: int
) -> None:
    model = LlamaCppModel(demo_model_path())
    assert model.planner_adapter is not None
    planner = AdapterPlanner(model, model.planner_adapter, samples=samples)
    draft = asyncio.run(planner.plan(objective, PlanContext()))
    assert isinstance(parse_plan(draft.plan.model_dump_json()), TaskIR)
    assert draft.plan.objective == objective.strip()
