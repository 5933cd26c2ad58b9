"""Agents with tools in a whole run: calls, their results, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flow_runs import run
from prefect_swarm import override_models, override_toolsets
from prefect_swarm.task_ir import TaskIR, parse_plan
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

pytestmark = pytest.mark.usefixtures("prefect_server")

Turn = Callable[[list[Any]], ModelResponse]


def with_tools(*tools: str) -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You look things up.", "tools": list(tools)}]
    step = {"id": "S1", "agent": "Reader", "prompt": "Find the price of tea."}
    return parse_plan({"objective": "Find out", "agents": agents, "steps": [step]})


def results(messages: list[ModelMessage]) -> list[Any]:
    return [
        part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def calls_until(most: int, **arguments: Any) -> FunctionModel:
    """A model that calls `price` so many times, and then answers with what it read."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        found = results(messages)
        if (
            len(found) < most
            and info.model_settings
            and info.model_settings.get("tool_choice") != "none"
        ):
            return ModelResponse([ToolCallPart("price", {"of": f"tea {len(found)}", **arguments})])
        return ModelResponse([TextPart(f"It read {found}.")])

    return FunctionModel(answer)


def priced(price: Callable[..., Any]) -> FunctionToolset[None]:
    tools = FunctionToolset[None]()
    tools.add_function(price, name="price")
    return tools


def test_an_agent_calls_tools_and_answers_with_what_they_gave() -> None:
    def price(of: str) -> str:
        return f"{of} costs 3"

    with override_models(worker=calls_until(2)), override_toolsets(shop=priced(price)):
        result = run(with_tools("shop"))
    assert result.status == "completed"
    assert result.answer == "It read ['tea 0 costs 3', 'tea 1 costs 3']."
    (attempt,) = result.steps[0].attempts
    assert [(call.ordinal, call.tool, call.toolset) for call in attempt.calls] == [
        (1, "price", "shop"),
        (2, "price", "shop"),
    ]
    assert attempt.usage.requests == 3
    assert attempt.calls[0].arguments == '{"of": "tea 0"}'
    assert attempt.calls[0].result == "tea 0 costs 3"
