"""Models that answer as a test says, and a record of their requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prefect_swarm.models.resolve import override_models
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


@dataclass
class Script:
    """Answers with `reply(prompt)`; an exception that it returns is raised instead.

    Attributes:
        together: No request is answered before so many were under way at once, or `release` is set.
        release: Set it to let all requests be answered.
        most_at_once: The most requests that were under way at once.
    """

    reply: Callable[[str], str | Exception] = lambda prompt: f"about: {prompt[-40:]}"
    prompts: list[str] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    together: int = 1
    release: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        prompt = _prompt(messages)
        self.prompts.append(prompt)
        self.instructions.append(info.instructions or "")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        if self.at_once >= self.together:
            self.release.set()
        try:
            # The limit only ends a test that would otherwise wait forever.
            await asyncio.wait_for(self.release.wait(), 60)
            answer = self.reply(prompt)
        finally:
            self.at_once -= 1
        if isinstance(answer, Exception):
            raise answer
        return ModelResponse(parts=[TextPart(answer)] if answer else [])

    def model(self, name: str = "scripted") -> FunctionModel:
        return FunctionModel(self, model_name=name)


@contextmanager
def scripted(script: Script) -> Generator[Script]:
    """Put one scripted model in every tier's place."""
    model = script.model()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        yield script


def _prompt(messages: list[ModelMessage]) -> str:
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    return "\n".join(str(p.content) for p in last.parts if isinstance(p, UserPromptPart))
