"""An attempt whose conversation is sent shorter: what it took, and what it sends after a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import prefect_swarm
import pytest
from forked import told_by_fork
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.store.attempt import Usage
from prefect_swarm.tasks.context import AttemptBudget, task_context
from prefect_swarm.tasks.subagent.conversation import SUMMARY_INSTRUCTIONS
from prefect_swarm.tasks.subagent.request import SubagentRequest
from prefect_swarm.tasks.subagent.tool_loop import ToolLoop
from prefect_swarm.toolsets.catalogue import Catalogue, ToolsetOverride, marked
from provider_runs import prose
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RequestUsage

pytestmark = pytest.mark.usefixtures("swarm_home")

_PAGES = 16
_CONTEXT = 3000
_THOUGHT = "Still nothing about tea. " * 12


def request(run_id: str) -> SubagentRequest:
    return SubagentRequest(
        key=f"{run_id}.0123456789abcdef.S1.1",
        run=run_id,
        step="S1",
        agent="Reader",
        attempt=1,
        tier="worker",
        model="test",
        instructions="You read.",
        prompt="Find the price of tea.",
        tools=("library",),
    )


def sent_text(messages: Sequence[ModelMessage]) -> str:
    """What a model is sent, as it reads it."""
    return json.dumps(
        [
            [part.part_kind, str(getattr(part, "content", "")), getattr(part, "tool_call_id", "")]
            for message in messages
            for part in message.parts
        ]
    )


def calls_in(messages: Sequence[ModelMessage]) -> list[int]:
    pages = [
        part.args_as_dict()["page"]
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.tool_calls
    ]
    return [int(page) for page in pages]


def reader(emit: Callable[[str], None]) -> FunctionModel:
    """A model that reads one page after the other; `emit` gets what it is sent."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent = sent_text(messages)
        usage = RequestUsage(input_tokens=len(sent) // 3, output_tokens=50)
        if info.instructions == SUMMARY_INSTRUCTIONS:
            return ModelResponse([TextPart("No price so far.")], usage=usage)
        emit(sent)
        page = calls_in(messages)[-1] + 1 if calls_in(messages) else 0
        if page == _PAGES:
            return ModelResponse([TextPart("Tea is 3.")], usage=usage)
        parts = [TextPart(_THOUGHT), ToolCallPart("read", {"page": page})]
        return ModelResponse(parts, usage=usage)

    return FunctionModel(answer, profile={"context_window": _CONTEXT})


def library() -> FunctionToolset[None]:
    tools = FunctionToolset[None]()

    def read(page: int) -> str:
        return f"Page {page} is about harbours. " * 20

    tools.add_function(read, metadata=marked(idempotent=True))
    return tools


async def attempt(run_id: str, emit: Callable[[str], None], **context: Any) -> ToolLoop:
    source = ToolsetOverride("library", library())
    with task_context(toolsets=Catalogue.of([source]), **context):
        loop = ToolLoop(reader(emit), request(run_id), ModelSettings())
        response = await loop.run()
    assert response.text == "Tea is 3."
    return loop


def test_the_page_on_tools_has_what_a_summary_is_asked_for_with() -> None:
    page = Path(prefect_swarm.__file__).parent / "docs" / "how-to" / "tools.md"
    assert SUMMARY_INSTRUCTIONS in " ".join(page.read_text().split())


def test_what_is_sent_stays_within_the_context_and_the_conversation_is_whole(run_id: str) -> None:
    sent: list[str] = []
    loop = asyncio.run(attempt(run_id, sent.append))
    assert len(sent) == _PAGES + 1
    assert max(map(len, sent)) // 3 < _CONTEXT
    results = [
        str(part.content)
        for message in loop.messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert len(results) == _PAGES
    assert not any("to make room" in result for result in results)
    assert sum(each.results for each in loop.compactions) > 0
    assert sum(each.exchanges for each in loop.compactions) > 0


def test_summaries_are_part_of_what_an_attempt_takes(run_id: str) -> None:
    extended: list[int] = []

    async def extend(_: Usage, tokens: int) -> None:
        extended.append(tokens)

    budget = AttemptBudget(extend)
    loop = asyncio.run(attempt(run_id, lambda _: None, budget=budget))
    assert loop.usage.requests > _PAGES + 1
    assert budget.taken == loop.usage
    # All but the first request, which the attempt was launched with.
    assert len(extended) == loop.usage.requests - 1
    assert max(extended) < _CONTEXT


class LocalReader(LlamaCppModel):
    """A model file whose calls are scripted, and whose answer is its own."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if (page := len(calls_in(messages))) < _PAGES:
            return ModelResponse([ToolCallPart("read", {"page": page})])
        return await super().request(messages, model_settings, model_request_parameters)


def test_a_model_file_answers_a_conversation_larger_than_its_context(run_id: str) -> None:
    tools = FunctionToolset[None]()

    def read(page: int) -> str:
        return prose(f"page {page}", 300)

    tools.add_function(read)
    asked = request(run_id).model_copy(update={"max_output_tokens": 8})
    with task_context(toolsets=Catalogue.of([ToolsetOverride("library", tools)])):
        loop = ToolLoop(LocalReader(demo_model_path()), asked, ModelSettings(max_tokens=8))
        response = asyncio.run(loop.run())
    assert 0 < response.usage.input_tokens <= 4096 - 8
    assert sum(each.results for each in loop.compactions) > 0


@pytest.mark.parametrize("killed_at", range(4, _PAGES + 2))
def test_killed_before_any_answer_it_sends_the_same_again(run_id: str, killed_at: int) -> None:
    whole: list[str] = []
    asyncio.run(attempt(str(uuid4()), whole.append))

    def work(write: Callable[[str], None]) -> None:
        count = 0

        def emit(sent: str) -> None:
            nonlocal count
            write(sent)
            count += 1
            if count == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(attempt(run_id, emit))

    before = told_by_fork(work)
    assert before == whole[:killed_at]
    after: list[str] = []
    asyncio.run(attempt(run_id, after.append))
    assert after == whole[killed_at - 1 :]
