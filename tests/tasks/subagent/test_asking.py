"""Errors of providers become our own errors."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.errors import (
    ContextTooSmallError,
    EmptyOutputError,
    RefusedError,
    SwarmError,
    UnavailableError,
)
from prefect_swarm.tasks.subagent.answer import GO_ON
from prefect_swarm.tasks.subagent.asking import ask
from prefect_swarm.tasks.subagent.request import SubagentRequest
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

ASKED = SubagentRequest(
    key="k",
    run="r",
    step="S1",
    agent="Writer",
    attempt=1,
    tier="worker",
    model="far",
    instructions="You write.",
    prompt="Write.",
)


def failing(error: Exception, name: str = "far") -> FunctionModel:
    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise error

    return FunctionModel(answer, model_name=name)


def error_of(model: FunctionModel | FallbackModel) -> SwarmError:
    with pytest.raises(SwarmError) as caught:
        asyncio.run(ask(model, ASKED))
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelContextWindowExceededError("far", "too long"), ContextTooSmallError),
        (ModelAuthenticationError("far", "wrong key"), UnavailableError),
        (ModelQuotaExceededError("far", "no money"), UnavailableError),
        (ModelNotFoundError("far", "no such model"), UnavailableError),
        (ModelRateLimitError("far", "too often"), UnavailableError),
        (ModelServerError("far", "broken"), UnavailableError),
        (ModelAPIError("far", "not JSON"), UnavailableError),
        (ModelRequestRejectedError("far", "no such setting"), UnavailableError),
        (ContentFilterError("not allowed"), RefusedError),
        (UnexpectedModelBehavior("no choices"), EmptyOutputError),
    ],
)
def test_an_error_has_its_kind_and_the_providers_words(
    error: ModelAPIError | UnexpectedModelBehavior, kind: type[SwarmError]
) -> None:
    translated = error_of(failing(error))
    assert type(translated) is kind
    assert error.message in translated.problem


def test_models_that_all_fail_are_one_error_of_the_firsts_kind() -> None:
    first = failing(ModelContextWindowExceededError("near", "too long"), "near")
    second = failing(ModelServerError("far", "broken"), "far")
    error = error_of(FallbackModel(first, second, fallback_on=(ModelAPIError,)))
    assert type(error) is ContextTooSmallError
    assert "too long. Then: " in error.problem
    assert error.problem.endswith("broken.")


def test_a_text_that_was_begun_is_the_models_last_turn() -> None:
    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart(str(len(messages)))])

    begun = ASKED.model_copy(update={"begun": "It is "})
    messages, response = asyncio.run(ask(FunctionModel(answer), begun))
    texts = [getattr(message.parts[-1], "content", "") for message in messages]
    assert texts == ["Write.", "It is ", GO_ON]
    assert response.text == "3"
