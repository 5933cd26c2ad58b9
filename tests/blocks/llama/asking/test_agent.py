"""An agent of pydantic-ai with tools, or with a stream, over a local model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from prefect_swarm.blocks.llama import EngineConfig
from prefect_swarm.blocks.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.errors import ContextTooSmallError, InputError, StepTimeoutError
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import WebSearchTool

pytestmark = pytest.mark.model


@pytest.fixture
def model(demo_path: Path) -> LlamaCppModel:
    settings = LlamaCppSettings(max_tokens=48, temperature=0)
    config = EngineConfig(n_ctx=1024, n_slots=2, n_threads=1)
    return LlamaCppModel(demo_path, config=config, settings=settings)


def first_a_call(context: RunContext[object]) -> LlamaCppSettings:
    """Force a call until a tool has returned something, then none."""
    parts = [part for message in context.messages for part in message.parts]
    returned = any(isinstance(part, ToolReturnPart) and not part.retry for part in parts)
    return LlamaCppSettings(tool_choice="none" if returned else "required", max_tokens=48)


def test_an_agents_tool_is_called_and_its_result_is_read(model: LlamaCppModel) -> None:
    agent = Agent(model, model_settings=first_a_call)
    cities: list[str] = []

    @agent.tool_plain
    def weather(city: Literal["Rome", "Paris"]) -> str:
        """Tell the weather of a city."""
        cities.append(city)
        return "sunny"

    result = asyncio.run(agent.run("How is the weather in Rome?"))
    called = result.all_messages()[1]
    assert isinstance(called, ModelResponse)
    assert called.finish_reason == "tool_call"
    assert len(cities) == 1
    assert result.output
    assert result.usage.requests == 2


def test_a_tool_that_wants_another_try_gets_it(model: LlamaCppModel) -> None:
    agent = Agent(model, model_settings=first_a_call)
    tries: list[int] = []

    @agent.tool_plain
    def count(number: Literal[1, 2]) -> str:
        """Count."""
        tries.append(number)
        if len(tries) == 1:
            raise ModelRetry("Not yet.")
        return "done"

    asyncio.run(agent.run("Count to two."))
    assert len(tries) == 2


def test_a_tool_of_a_provider_is_refused_by_name(model: LlamaCppModel) -> None:
    parameters = ModelRequestParameters(native_tools=[WebSearchTool()])
    with pytest.raises(InputError, match="web_search"):
        asyncio.run(model.request([ModelRequest([UserPromptPart("Hello")])], None, parameters))


async def _streamed(agent: Agent[Any, Any], text: str) -> tuple[list[str], Any]:
    async with agent.run_stream(text) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return pieces, result


def test_a_stream_has_the_answer_in_pieces_and_its_usage(model: LlamaCppModel) -> None:
    agent = Agent(model)
    whole = asyncio.run(agent.run("What do bees do?"))
    pieces, result = asyncio.run(_streamed(agent, "What do bees do?"))
    assert "".join(pieces) == whole.output
    assert len(pieces) > 10
    assert result.usage.output_tokens == whole.usage.output_tokens


def test_a_stream_goes_on_after_a_tool(model: LlamaCppModel) -> None:
    agent = Agent(model, model_settings=first_a_call)

    @agent.tool_plain
    def weather(city: Literal["Rome", "Paris"]) -> str:
        """Tell the weather of a city."""
        return f"sunny in {city}"

    pieces, result = asyncio.run(_streamed(agent, "How is the weather in Rome?"))
    assert "".join(pieces)
    assert result.usage.tool_calls == 1


async def _left_early(model: LlamaCppModel) -> str:
    async with Agent(model).run_stream("Tell a long story.") as result:
        async for piece in result.stream_text(delta=True, debounce_by=None):
            return piece
    return ""


def test_a_stream_may_be_left(model: LlamaCppModel) -> None:
    assert asyncio.run(_left_early(model))
    # Its slot is free again.
    assert asyncio.run(Agent(model).run("Hello")).output


def test_a_streams_errors_are_those_of_a_request(model: LlamaCppModel) -> None:
    with pytest.raises(ContextTooSmallError):
        asyncio.run(_streamed(Agent(model), "word " * 2000))
    slow = Agent(model, model_settings=LlamaCppSettings(timeout=0))
    with pytest.raises(StepTimeoutError):
        asyncio.run(_streamed(slow, "Hello"))
