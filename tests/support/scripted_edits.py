"""A scripted model that changes files by the toolset `workspace`, as a capable one does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

__all__ = ["Call", "editing", "prompt_in", "results_in"]

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


def prompt_in(messages: Sequence[ModelMessage]) -> str:
    """Return all that the model was asked."""
    return "\n".join(
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )


def results_in(messages: Sequence[ModelMessage]) -> list[str]:
    """Return what its calls came to, those of tools that it doesn't have among them."""
    return [
        str(getattr(part, "content", ""))
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if part.part_kind in ("tool-return", "retry-prompt")
    ]


def editing(
    calls: Mapping[str, Sequence[Call]] | Callable[[str], Sequence[Call]],
    seen: list[tuple[str, list[str]]] | None = None,
    after: Mapping[str, asyncio.Event] | None = None,
    says: Callable[[str, Sequence[str]], str] = lambda _prompt, _results: "It is done.",
) -> FunctionModel:
    """Return a model that makes calls one after another, then says that it is done.

    Args:
        calls: Its calls by a text that the prompt has, or a function of the prompt.
        seen: Gets each prompt with what the calls came to, when it is done.
        says: What it says at last, of the prompt and what the calls came to.
        after: What it waits for before it is done, by a text that the prompt has.
    """

    def script(prompt: str) -> Sequence[Call]:
        if callable(calls):
            return calls(prompt)
        return next((found for text, found in calls.items() if text in prompt), ())

    async def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        prompt, results = prompt_in(messages), results_in(messages)
        script_of_step = script(prompt)
        if len(results) < len(script_of_step):
            name, arguments = script_of_step[len(results)]
            return ModelResponse([ToolCallPart(name, arguments)])
        for text, event in (after or {}).items():
            if text in prompt:
                await asyncio.wait_for(event.wait(), 120)
        if seen is not None:
            seen.append((prompt, results))
        return ModelResponse([TextPart(says(prompt, results))])

    return FunctionModel(answer)
