"""Calls of a toolset's tools as an agent makes them, without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from prefect_swarm.store.folder import RunFolder
from prefect_swarm.toolsets.catalogue import Toolset, ToolsetSource, ToolsetUse
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai.usage import RunUsage

__all__ = ["Calls", "calls_of", "conversation", "in_loop", "use_in"]

P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Let a test that is a coroutine run in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def use_in(folder: Path, step: str = "S1", attempt: str = "S1.1", **fields: Any) -> ToolsetUse:
    """Return the use of a toolset by an attempt of a run that lies in a folder."""
    return ToolsetUse(RunFolder(folder), step, attempt, **fields)


def conversation(answers: int) -> list[ModelMessage]:
    """Return messages with so many answers of a model."""
    return [ModelResponse([TextPart(str(n))]) for n in range(answers)]


@dataclass(frozen=True)
class Calls:
    """An entered toolset. A call is the only one of its answer, and answers are counted."""

    toolset: Toolset
    tools: dict[str, ToolsetTool[None]]

    @property
    def definitions(self) -> dict[str, ToolDefinition]:
        return {name: tool.tool_def for name, tool in self.tools.items()}

    async def call(
        self,
        tool: str,
        *,
        call_id: str = "",
        messages: Sequence[ModelMessage] = (),
        **arguments: Any,
    ) -> str:
        """Return what a tool returns, with its arguments validated as an agent does."""
        context = _context(call_id, messages)
        found = self.tools[tool]
        valid = found.args_validator.validate_json(json.dumps(arguments))
        result = await self.toolset.call_tool(tool, valid, context, found)
        assert isinstance(result, str)
        return result

    async def failure(self, tool: str, **arguments: Any) -> str:
        """Return what the model reads of a call that can't be made."""
        try:
            result = await self.call(tool, **arguments)
        except ToolFailed as error:
            return error.message
        raise AssertionError(f"it returned {result!r}")


@asynccontextmanager
async def calls_of(source: ToolsetSource, use: ToolsetUse) -> AsyncGenerator[Calls]:
    """Enter the toolset that a source makes for an attempt."""
    async with source.toolset(use) as toolset:
        yield Calls(toolset, await toolset.get_tools(_context("", ())))


def _context(call_id: str, messages: Sequence[ModelMessage]) -> RunContext[None]:
    return RunContext(
        deps=None,
        model=TestModel(),
        usage=RunUsage(),
        tool_call_id=call_id or None,
        messages=list(messages),
    )
