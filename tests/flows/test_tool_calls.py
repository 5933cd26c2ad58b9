"""Agents with tools in a whole run: calls, their results, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flow_runs import run
from prefect_swarm import override_models, override_toolsets
from prefect_swarm.errors import Category, PlanError
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("prefect_server")

Turn = Callable[[list[Any]], ModelResponse]


def with_tools(*tools: str) -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You look things up.", "tools": list(tools)}]
    step = {"id": "S1", "agent": "Reader", "prompt": "Find the price of tea."}
    return parse_plan({"objective": "Find out", "agents": agents, "steps": [step]})


def results(messages: list[ModelMessage]) -> list[Any]:
    return [
        without_marks(part.content) if isinstance(part.content, str) else part.content
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


def test_calls_are_told_as_events_with_secrets_masked() -> None:
    def price(of: str, password: str) -> str:
        return f"{of} costs 3, token={password}"

    model = calls_until(1, password="hunter2hunter2")  # noqa: S106
    with override_models(worker=model), override_toolsets(shop=priced(price)):
        result = run(with_tools("shop"))
    events = [
        line
        for line in RunFolder.of(result.flow_run_id).lines("events.jsonl")
        if line["kind"] == "tool"
    ]
    assert [(event["outcome"], event["tool"]) for event in events] == [
        ("started", "price"),
        ("returned", "price"),
    ]
    assert "hunter2" not in str(events)
    assert "hunter2" not in str(result.steps[0].attempts[0].calls)
    assert events[0]["arguments"] == '{"of": "tea 0", "password": "…masked…"}'


def test_an_unknown_toolset_is_an_error_before_any_model_is_asked() -> None:
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages))
        return ModelResponse([TextPart("done")])

    with override_models(worker=FunctionModel(answer)), pytest.raises(PlanError) as caught:
        run(with_tools("shop"))
    assert "unknown toolset 'shop'; there are python, web." in str(caught.value)
    assert asked == []


def broken(of: str) -> str:
    raise RuntimeError(f"no {of}")


def picky(of: str) -> str:
    raise ModelRetry(f"Say which {of}.")


@pytest.mark.parametrize(("tool", "reads"), [(broken, "no tea 0"), (picky, "Say which tea 0.")])
def test_a_tool_that_fails_costs_the_attempt_a_message_and_not_the_run(
    tool: Callable[..., str], reads: str
) -> None:
    with override_models(worker=calls_until(1)), override_toolsets(shop=priced(tool)):
        result = run(with_tools("shop"))
    assert result.status == "completed"
    assert reads in result.answer
    (call,) = result.steps[0].attempts[0].calls
    assert call.outcome == "refused"


def test_an_attempt_that_has_made_its_calls_makes_no_more_and_answers() -> None:
    made: list[str] = []

    def price(of: str) -> str:
        made.append(of)
        return "3"

    with override_models(worker=calls_until(9)), override_toolsets(shop=priced(price)):
        result = run(with_tools("shop"), tool_limits={"calls": 2})
    assert made == ["tea 0", "tea 1"]
    assert result.answer == "It read ['3', '3']."


def test_a_model_that_calls_on_without_end_fails_its_attempt_and_says_why() -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("price", {"of": "tea"})])

    def price(of: str) -> str:
        return "3"

    with override_models(worker=FunctionModel(answer)), override_toolsets(shop=priced(price)):
        result = ended(with_tools("shop"), tool_limits={"calls": 1}, max_attempts=1)
    attempt = result.steps[0].attempts[0]
    assert attempt.category is Category.FORMAT, attempt.error
    assert "came to no answer" in str(attempt.error)
    assert attempt.usage.requests > 1


def test_a_long_result_is_cut_and_says_so() -> None:
    def price(of: str) -> str:
        return "x" * 5000

    with override_models(worker=calls_until(1)), override_toolsets(shop=priced(price)):
        result = run(with_tools("shop"), tool_limits={"characters": 1000})
    assert "4,000 characters are left out here" in result.answer
    assert result.steps[0].attempts[0].calls[0].characters == 5000


def test_two_toolsets_may_have_tools_of_one_name() -> None:
    seen: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(sorted(tool.name for tool in info.function_tools))
        if not results(messages):
            return ModelResponse([ToolCallPart("farm_price", {"of": "tea"})])
        return ModelResponse([TextPart(str(results(messages)))])

    def price(of: str) -> str:
        return "3"

    def farm_price(of: str) -> str:
        return "2"

    farm = FunctionToolset[None]()
    farm.add_function(farm_price, name="price")
    with (
        override_models(worker=FunctionModel(answer)),
        override_toolsets(shop=priced(price), farm=farm),
    ):
        result = run(with_tools("shop", "farm"))
    assert seen[0] == ["farm_price", "shop_price"]
    assert result.answer == "['2']"


def test_what_further_requests_read_is_within_the_budget() -> None:
    def price(of: str) -> str:
        return "word " * 3000

    with override_models(worker=calls_until(5)), override_toolsets(shop=priced(price)):
        result = ended(with_tools("shop"), max_tokens=6000, max_output_tokens=100, max_attempts=1)
    (attempt,) = result.steps[0].attempts
    assert attempt.category is Category.BUDGET
    assert 0 < len(attempt.calls) < 5


def ended(plan: TaskIR, **options: Any) -> SwarmResult:
    try:
        return run(plan, **options)
    except RunFailedError as error:
        if error.result is None:
            raise
        return error.result
