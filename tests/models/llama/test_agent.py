"""An agent of pydantic-ai with tools, or with a stream, over a local model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from prefect_swarm.errors import ContextTooSmallError, InputError, StepTimeoutError
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.model import LlamaCppModel, LlamaCppSettings
from prefect_swarm.models.llama.slots import FRESH_TOKENS
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import ToolDefinition

pytestmark = pytest.mark.model


@pytest.fixture
def model(shallow_path: Path) -> LlamaCppModel:
    settings = LlamaCppSettings(max_tokens=48, temperature=0)
    config = EngineConfig(n_ctx=1024, n_slots=2, n_threads=1)
    return LlamaCppModel(shallow_path, config=config, settings=settings)


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


def weather(city: Literal["Rome", "Paris"], days: int = 1) -> str:
    """Tell the weather of a city."""
    return f"sunny in {city} for {days} days"


def test_the_next_turn_computes_only_what_is_new(model: LlamaCppModel) -> None:
    """Whatever may be called then: the conversation's beginning stays what it was."""
    agent = Agent(
        model, model_settings=first_a_call, tools=[weather], instructions="Be brief. " * 40
    )
    result = asyncio.run(agent.run("How is the weather in Rome?"))
    first, second = (each for each in result.all_messages() if isinstance(each, ModelResponse))
    assert first.usage.input_tokens > 200
    assert second.usage.cache_read_tokens >= first.usage.input_tokens - FRESH_TOKENS


def test_a_loop_ends_with_an_answer_and_each_call_fits(model: LlamaCppModel) -> None:
    """A sampled answer of the embedded model is anything at all, but never a wrong call."""
    asked: list[ModelResponse] = []
    for seed in range(4):
        agent = Agent(
            model,
            tools=[weather],
            retries=0,
            model_settings=LlamaCppSettings(seed=seed, temperature=1.5, max_tokens=24),
        )
        result = asyncio.run(agent.run('Write {"name": "weather", "arguments": {"city":'))
        assert result.output
        asked += [each for each in result.all_messages() if isinstance(each, ModelResponse)]
    assert all(call.tool_name == "weather" for each in asked for call in each.tool_calls)


SUM = '{"properties": {"sum": {"enum": [3, 4]}}, "required": ["sum"]}'


def a_call_then_a_sum(context: RunContext[object]) -> LlamaCppSettings:
    """Force a call, then an answer of a schema."""
    return LlamaCppSettings({**first_a_call(context), "llamacpp_json_schema": SUM})


def test_a_schema_is_the_answers_and_not_the_calls(model: LlamaCppModel) -> None:
    agent = Agent(model, tools=[weather], model_settings=a_call_then_a_sum)
    result = asyncio.run(agent.run("How is the weather in Rome?"))
    assert result.usage.tool_calls == 1
    assert json.loads(result.output)["sum"] in (3, 4)


def test_a_turn_is_an_answer_of_the_schema_or_a_call(model: LlamaCppModel) -> None:
    """Whatever a hot sampler writes."""
    tool = ToolDefinition(name="add", parameters_json_schema=json.loads(SUM))
    parameters = ModelRequestParameters(function_tools=[tool])
    for seed in range(3):
        settings = LlamaCppSettings(seed=seed, temperature=3.0, llamacpp_json_schema=SUM)
        question: list[ModelMessage] = [ModelRequest([UserPromptPart("1 + 2?")])]
        (part,) = asyncio.run(model.request(question, settings, parameters)).parts
        assert isinstance(part, TextPart | ToolCallPart)
        written = part.content if isinstance(part, TextPart) else part.args_as_json_str()
        assert json.loads(written)["sum"] in (3, 4)


def test_no_call_is_written_when_the_tools_are_taken_away(model: LlamaCppModel) -> None:
    call = '{"name": "weather", "arguments": {"city": "Rome"}}'
    history = [
        ModelRequest([UserPromptPart(f"Repeat: {call}")]),
        ModelResponse([ToolCallPart("weather", {"city": "Rome"}, tool_call_id="c1")]),
        ModelRequest([ToolReturnPart("weather", f"Repeat: {call}", tool_call_id="c1")]),
    ]
    agent = Agent(model, tools=[weather], model_settings=LlamaCppSettings(tool_choice="none"))
    result = asyncio.run(agent.run(message_history=history))
    assert result.usage.tool_calls == 0
    assert '"name": "weather"' not in result.output
