"""Text is streamed while a model writes, and its answer is the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.streaming import request_streaming, sink_for_thread, streaming_to
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, ModelRequestRejectedError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

ASKED: list[ModelMessage] = [ModelRequest.user_text_prompt("Say something.")]


class Listener:
    """Keeps the texts of each request."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def begin(self) -> None:
        self.requests.append("")

    def add(self, piece: str) -> None:
        self.requests[-1] += piece


def answered(model: Model, listener: Listener, *, of_providers: bool = True) -> str | None:
    async def ask() -> str | None:
        with streaming_to(listener, of_providers=of_providers):
            return (await request_streaming(model, ASKED, None, ModelRequestParameters())).text

    return asyncio.run(ask())


async def plain(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    return ModelResponse([TextPart("all at once")])


async def pieces(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
    yield "piece "
    yield "by piece"


def breaking(error: Exception) -> FunctionModel:
    async def break_off(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        yield "half"
        raise error

    return FunctionModel(plain, stream_function=break_off)


def heard_plan(stream: Callable[..., AsyncIterator[Any]]) -> tuple[ModelResponse, Listener]:
    """What a model that calls a tool answers, and what is heard of it."""
    listener, model = Listener(), FunctionModel(plain, stream_function=stream)

    async def ask() -> ModelResponse:
        with streaming_to(listener, of_providers=True, of_calls=True):
            return await request_streaming(model, ASKED, None, ModelRequestParameters())

    return asyncio.run(ask()), listener


def test_the_arguments_of_a_call_are_heard_apart_from_the_text_before() -> None:
    async def call(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        yield "Sure: "
        yield {1: DeltaToolCall(name="plan", json_args='{"a"')}
        yield {1: DeltaToolCall(json_args=": 1}")}

    response, listener = heard_plan(call)
    assert listener.requests == ["Sure: ", '{"a": 1}']
    assert response.tool_calls[0].args_as_dict() == {"a": 1}


def test_a_stream_that_is_rejected_is_asked_once_without() -> None:
    async def reject(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
        raise ModelRequestRejectedError("test", "no tools in streams")
        yield ""

    response, listener = heard_plan(reject)
    assert response.text == "all at once"
    assert listener.requests == []


def test_a_stream_is_heard_and_its_whole_text_is_the_answer() -> None:
    listener = Listener()
    model = FunctionModel(plain, stream_function=pieces)
    assert answered(model, listener) == "piece by piece"
    assert listener.requests == ["piece by piece"]


def test_a_provider_is_not_asked_to_stream_where_that_is_not_wanted() -> None:
    listener = Listener()
    model = FunctionModel(plain, stream_function=pieces)
    assert answered(model, listener, of_providers=False) == "all at once"
    assert listener.requests == []


def test_a_model_that_cannot_stream_answers_all_at_once() -> None:
    assert answered(FunctionModel(plain), Listener()) == "all at once"


def test_a_stream_that_breaks_off_is_an_error_of_the_provider() -> None:
    with pytest.raises(ModelAPIError, match="broke off: ConnectionResetError"):
        answered(breaking(ConnectionResetError()), Listener())


def test_an_error_of_the_model_stays_what_it_is() -> None:
    with pytest.raises(UnexpectedModelBehavior, match="strange"):
        answered(breaking(UnexpectedModelBehavior("strange")), Listener())


def test_where_nobody_listens_an_engine_has_nobody_to_tell() -> None:
    async def begin() -> bool:
        return sink_for_thread() is None

    assert asyncio.run(begin())


@pytest.mark.model
def test_a_local_model_says_what_it_answers() -> None:
    listener = Listener()

    async def ask() -> str | None:
        model = LlamaCppModel(demo_model_path())
        settings = {"max_tokens": 12, "seed": 1}
        with streaming_to(listener, of_providers=False):
            return (await model_request(model, ASKED, model_settings=settings)).text  # pyright: ignore[reportArgumentType]

    answer = asyncio.run(ask())
    assert answer
    assert listener.requests == [answer]
