"""The scripted model of all tiers, its virtual seconds, and what it is paid for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from prefect_swarm.text import tokens_of
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from .plans import Style, plan_of, turn_of
from .reader import Reader
from .reading import read_wanted
from .virtual_time import VirtualClock

__all__ = ["ANSWER_S", "READ_S", "SLOTS", "USD", "WRITTEN_S", "Meter", "Player"]

ANSWER_S, WRITTEN_S, READ_S = 1.0, 0.02, 0.0002
"""Virtual seconds of an answer, of each token that it writes, and of each that isn't cached."""
SLOTS = 20
"""Requests, and calls of tools, that may be under way together."""
USD = {"read": 3.0, "cached": 0.3, "written": 15.0}
"""Dollars of a million tokens."""


@dataclass(slots=True)
class Meter:
    """What a run's requests have taken, in tokens."""

    requests: int = 0
    read: int = 0
    cached: int = 0
    written: int = 0

    @property
    def usd(self) -> float:
        """What they cost."""
        return (
            self.read * USD["read"] + self.cached * USD["cached"] + self.written * USD["written"]
        ) / 1e6


@dataclass(frozen=True, slots=True)
class Player:
    """Plans, directs and reads.

    Attributes:
        reader: How it reads, as a subagent.
        style: How it plans; None where the plan is given.
        question: The objective.
        meter: What its requests have taken.
    """

    clock: VirtualClock
    reader: Reader
    style: Style | None
    question: str
    meter: Meter = field(default_factory=Meter)

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer after its virtual seconds."""
        head = tokens_of(info.instructions or "") + sum(map(_size_of_tool, _tools(info)))
        known = self._known(messages)
        sizes = [*map(_tokens, known)]
        parts = self._parts(messages, known, info)
        before = next((n for n in range(len(known), 0, -1) if _is_answer(known[n - 1])), 0)
        cached = head + sum(sizes[:before]) if before else 0
        read = head + sum(sizes) - cached
        written = sum(tokens_of(_text(part)) for part in parts)
        seconds = ANSWER_S + WRITTEN_S * written + READ_S * read
        await self.clock.sleep(seconds, f"{_prompt(messages)[-300:]} {len(messages)}")
        self.meter.requests += 1
        self.meter.read += read
        self.meter.cached += cached
        self.meter.written += written
        usage = RequestUsage(
            input_tokens=read + cached, cache_read_tokens=cached, output_tokens=written
        )
        return ModelResponse(parts, usage=usage)

    def _known(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Return the prompt, and of what follows the newest that it knows."""
        remaining, known = self.reader.flaws.context, list[ModelMessage]()
        if remaining is None:
            return [*messages]
        for message in reversed(messages[1:]):
            remaining -= _tokens(message)
            if remaining < 0 and known:
                break
            known.append(message)
        return [*messages[:1], *reversed(known)]

    def _parts(
        self, messages: Sequence[ModelMessage], known: Sequence[ModelMessage], info: AgentInfo
    ) -> list[TextPart | ToolCallPart]:
        if any(tool.name == "write_plan" for tool in _tools(info)):
            assert self.style is not None
            plan = plan_of(self.question, self.style, _prompt(messages))
            return [ToolCallPart("write_plan", plan)]
        prompt = _prompt(messages)
        if re.search(r"^Turn \d+\.", prompt, re.MULTILINE):
            written = [_text(part) for m in messages if _is_answer(m) for part in m.parts]
            return [TextPart(turn_of(self.question, prompt, "\n".join(written)))]
        answers = sum(map(_is_answer, messages))
        tools = [tool.name for tool in _tools(info)]
        return self.reader.answer(read_wanted(prompt), prompt, known[1:], answers + 1, tools)


def _tools(info: AgentInfo) -> list[ToolDefinition]:
    return [*info.function_tools, *info.output_tools]


def _size_of_tool(tool: ToolDefinition) -> int:
    schema = json.dumps(tool.parameters_json_schema)
    return _part_tokens(f"{tool.name} {tool.description} {schema}")


def _is_answer(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse)


def _prompt(messages: Sequence[ModelMessage]) -> str:
    """Return what the user said last."""
    said = [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return said[-1] if said else ""


def _tokens(message: ModelMessage) -> int:
    return sum(map(_part_tokens, map(_text, message.parts)))


@lru_cache(maxsize=50_000)
def _part_tokens(text: str) -> int:
    return tokens_of(text)


def _text(part: object) -> str:
    if isinstance(part, ToolCallPart):
        return f"{part.tool_name} {part.args_as_json_str()}"
    if isinstance(part, TextPart | ToolReturnPart | UserPromptPart):
        return part.content if isinstance(part.content, str) else str(part.content)
    return ""
