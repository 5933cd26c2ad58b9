"""How an attempt ends that a model was stopped in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prefect_swarm.errors import Category, EarlyAbortError
from prefect_swarm.models.resolve import override_models
from prefect_swarm.tasks.subagent.request import SubagentRequest, SubagentResult
from prefect_swarm.tasks.subagent.task import answer
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionDef, FunctionModel
from pydantic_ai.usage import RequestUsage
from scripted_local import ScriptedModel

ASKED = SubagentRequest(
    key="k",
    run="r",
    step="S1",
    agent="Writer",
    attempt=1,
    tier="worker",
    model="demo",
    instructions="You write.",
    prompt="Write",
    max_output_tokens=256,
)


def answered(by: FunctionDef) -> SubagentResult:
    with override_models(worker=FunctionModel(by, model_name="looping")):
        return asyncio.run(answer(ASKED))


@pytest.mark.usefixtures("swarm_home")
def test_what_was_stopped_early_says_why_and_what_it_saved() -> None:
    def stopped(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            parts=[TextPart("ha ha ha")],
            usage=RequestUsage(input_tokens=10, output_tokens=40),
            provider_details={"aborted": "'ha' over and over"},
        )

    verdict = answered(stopped)
    assert verdict.category is Category.EARLY_ABORT
    assert "looping was stopped: it wrote 'ha' over and over" in verdict.error
    assert (verdict.usage.output_tokens, verdict.tokens_saved) == (40, 216)
    assert verdict.text == "ha ha ha"


def test_a_grammar_that_leads_nowhere_is_an_early_abort(swarm_home: Path) -> None:
    def stuck(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise EarlyAbortError("The grammar leaves no token that this model knows.")

    verdict = answered(stuck)
    assert verdict.category is Category.EARLY_ABORT
    assert "leaves no token" in verdict.error
    assert not (swarm_home / "runs" / "r" / "transcripts").exists()


@pytest.mark.usefixtures("swarm_home")
def test_a_model_file_that_ends_where_it_was_cut_off_has_said_all() -> None:
    begun = ASKED.model_copy(update={"begun": "The harbour is deep."})
    with override_models(worker=ScriptedModel("")):
        verdict = asyncio.run(answer(begun))
    assert (verdict.category, verdict.text) == (None, "The harbour is deep.")


@pytest.mark.usefixtures("swarm_home")
def test_of_a_provider_an_empty_continuation_says_nothing() -> None:
    def silent(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[], finish_reason="stop")

    begun = ASKED.model_copy(update={"begun": "The harbour is deep."})
    with override_models(worker=FunctionModel(silent)):
        assert asyncio.run(answer(begun)).category is Category.FORMAT
