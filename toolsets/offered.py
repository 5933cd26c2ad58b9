"""The tools of an attempt: those of its toolsets, under names that differ, through the journal."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic import ValidationError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from .calls import JournaledCalls, calls_of
from .catalogue import Catalogue, Toolset, ToolsetUse, needs_approval
from .names import fitted
from .shown import ForModel

__all__ = ["AttemptTools", "OfferedTool", "OwnName", "ToolsOf", "earlier_names", "offered_tools"]


OwnName = tuple[str, str]
"""A toolset's name, and a tool's own name in it."""
ToolsOf = tuple[str, str, Toolset, Mapping[str, ToolsetTool[None]]]
"""Of a toolset its name, its server, itself, and its tools by their own names."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool under the name that the model calls it by.

    Attributes:
        toolset: The name of its toolset.
        server: What its calls are bounded together with.
        owner: The toolset that makes the call, under the tool's own name.
    """

    toolset: str
    server: str
    owner: Toolset
    own_name: str
    tool: ToolsetTool[None]


def offered_tools(
    toolsets: Iterable[ToolsOf], earlier: Mapping[str, OwnName] | None = None
) -> dict[str, OfferedTool]:
    """Return the tools by the names that the model is given.

    A name that two toolsets have gets its toolset's before it. What is too long, or still equal,
    ends with a hash of both names.

    Args:
        toolsets: What each of them has.
        earlier: Names that the model was given before. Each stays with its tool, and none is given
            to another one.
    """
    toolsets = [*toolsets]
    names = _names([(name, own) for name, _, _, tools in toolsets for own in tools], earlier or {})
    offered: dict[str, OfferedTool] = {}
    for toolset, server, owner, tools in toolsets:
        for own, tool in tools.items():
            shown = names[toolset, own]
            renamed = replace(tool, tool_def=replace(tool.tool_def, name=shown))
            offered[shown] = OfferedTool(toolset, server, owner, own, renamed)
    return offered


def earlier_names(toolsets: Iterable[ToolsOf], called: Mapping[str, str]) -> dict[str, OwnName]:
    """Return whose names those are by which an earlier process called tools.

    Args:
        toolsets: What each of them has.
        called: Names that the model was given, and the toolset of each.
    """
    tools_of = {name: tools for name, _, _, tools in toolsets}
    found: dict[str, OwnName] = {}
    for shown, toolset in called.items():
        tools = tools_of.get(toolset, {})
        owns = (own for own in tools if shown in _candidates((toolset, own)))
        own = shown if shown in tools else next(owns, None)
        if own is not None:
            found[shown] = (toolset, own)
    return found


def _names(tools: Sequence[OwnName], earlier: Mapping[str, OwnName]) -> dict[OwnName, str]:
    names = {tool: shown for shown, tool in earlier.items() if tool in set(tools)}
    taken = set(earlier)
    times = Counter(fitted(own) for _, own in tools)
    # Names of their own come first: none of them depends on what another one is called.
    for tool in tools:
        plain = fitted(tool[1])
        if tool not in names and times[plain] == 1 and plain not in taken:
            names[tool] = plain
            taken.add(plain)
    for tool in tools:
        if tool not in names:
            names[tool] = next(each for each in _candidates(tool)[1:] if each not in taken)
            taken.add(names[tool])
    return names


def _candidates(tool: OwnName) -> tuple[str, ...]:
    """Return what a tool may be called, the best name first."""
    toolset, own = tool
    both = f"{toolset}_{own}"
    hashed = (fitted(f"{both}\0{more}", with_hash=True) for more in ("", *"123456789"))
    return (fitted(own), fitted(both), *hashed)


@dataclass
class AttemptTools(AbstractToolset[None]):
    """All tools of an attempt. Entering it opens its toolsets; leaving it closes them.

    Attributes:
        names: The toolsets' names.
        only: Whether the attempt is offered a tool of theirs.
    """

    use: ToolsetUse
    names: Sequence[str]
    catalogue: Catalogue
    journaled: JournaledCalls
    only: Callable[[ToolDefinition], bool]
    _toolsets: list[tuple[str, str, Toolset]] = field(
        default_factory=list[tuple[str, str, Toolset]]
    )
    _offered: dict[str, OfferedTool] = field(default_factory=dict[str, OfferedTool])
    _names: dict[str, OwnName] = field(default_factory=dict[str, OwnName])
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def offered(self) -> dict[str, str]:
        """The toolsets of the tools that are offered now, by the names that the model is given."""
        return {name: offered.toolset for name, offered in self._offered.items()}

    @property
    def id(self) -> str:
        """What pydantic-ai calls it in messages of errors."""
        return "attempt"

    async def for_run(self, ctx: RunContext[None]) -> Self:
        """Make the toolsets.

        Raises:
            ToolsetError: One is not available.
        """
        # A plan may name a server by both of its names.
        sources = {source.name: source for source in map(self.catalogue.source, self.names)}
        for source in sources.values():
            toolset = await source.toolset(self.use).for_run(ctx)
            self._toolsets.append((source.name, source.server, toolset))
        return self

    async def for_run_step(self, ctx: RunContext[None]) -> Self:
        """Let the toolsets prepare for another request."""
        self._toolsets = [
            (name, server, await toolset.for_run_step(ctx))
            for name, server, toolset in self._toolsets
        ]
        return self

    async def __aenter__(self) -> Self:
        """Open the toolsets that `for_run` made."""
        try:
            for _, _, toolset in self._toolsets:
                await self._stack.enter_async_context(toolset)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        """Close the toolsets."""
        self._toolsets.clear()
        return await self._stack.__aexit__(*args)

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Return the tools of all toolsets, under names that differ."""
        listed = await asyncio.gather(*(each.get_tools(ctx) for _, _, each in self._toolsets))
        toolsets = [
            (*toolset, {name: tool for name, tool in tools.items() if self.only(tool.tool_def)})
            for toolset, tools in zip(self._toolsets, listed, strict=True)
        ]
        if not self._names:
            self._names = earlier_names(toolsets, self.journaled.called)
        self._offered = offered_tools(toolsets, self._names)
        self._names |= {
            shown: (offered.toolset, offered.own_name) for shown, offered in self._offered.items()
        }
        # A model that calls wrongly reads why, as often as it may call.
        most = self.journaled.rules.most
        return {
            name: replace(
                offered.tool, toolset=self, max_retries=most, tool_def=_asked_here(offered.tool)
            )
            for name, offered in self._offered.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> ForModel:
        """Return what the model reads of a call; see `JournaledCalls.call` for what it raises."""
        offered = self._offered[name]
        own = replace(offered.tool, tool_def=replace(tool.tool_def, name=offered.own_name))
        tools = {
            shown: (each.toolset, each.server, each.tool.tool_def)
            for shown, each in self._offered.items()
        }
        calls = calls_of(ctx.messages)
        # Its answer's calls have ids of our own, so no two have the same.
        position = next(i for i, part in enumerate(calls) if part.tool_call_id == ctx.tool_call_id)
        untaken = {
            number
            for number, part in enumerate(calls)
            if (its := self._offered.get(part.tool_name)) and not _takes(its.tool, part, ctx)
        } - {position}
        return await self.journaled.call(
            ctx.messages,
            position,
            tools,
            lambda: offered.owner.call_tool(offered.own_name, tool_args, ctx, own),
            untaken,
        )


def _takes(tool: ToolsetTool[None], part: ToolCallPart, ctx: RunContext[None]) -> bool:
    """Say whether a call's arguments fit its tool; the library makes none of which they don't."""
    validator, context = tool.args_validator, ctx.validation_context
    try:
        if isinstance(part.args, str):
            validator.validate_json(part.args or "{}", context=context)
        else:
            validator.validate_python(part.args or {}, context=context)
    except ValidationError:
        return False
    return True


def _asked_here(tool: ToolsetTool[None]) -> ToolDefinition:
    """A tool's definition for the library, which would leave asking a person to its caller."""
    definition = tool.tool_def
    return replace(definition, kind="function") if needs_approval(definition) else definition
