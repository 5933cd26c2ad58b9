"""One server is one toolset: each request goes to the server's owner."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ...errors import ToolsetError
from ..limits import ToolLimits
from ..source import Toolset, ToolsetUse
from .configuration import McpEndpoint
from .described import ToolList
from .owner import ServerOwner, owned

__all__ = ["McpSource", "McpToolset"]


_logger = logging.getLogger("prefect_swarm.toolsets")

# Whether arguments fit a tool's schema is its server's to say.
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class McpToolset(AbstractToolset[None]):
    """The tools of a server, for an agent. It may be entered and left by any task."""

    def __init__(self, endpoint: McpEndpoint, limits: ToolLimits) -> None:
        """Take a server, and what bounds its calls."""
        self._endpoint, self._limits = endpoint, limits
        self._stack = AsyncExitStack()
        self._owner: ServerOwner | None = None
        self._tools = ToolList()

    @property
    def id(self) -> str:
        """The server's name."""
        return self._endpoint.name

    async def __aenter__(self) -> Self:
        """Share the server; it starts with the first request."""
        shared = owned(self._endpoint, self._limits.at_once)
        self._owner = await self._stack.enter_async_context(shared)
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        """Leave the server; it ends with its last user."""
        await self._stack.aclose()
        self._owner = None
        return None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """Return the server's tools, as they are now.

        Raises:
            ToolsetError: The server can't be had, or gives none in time, and never did.
        """
        try:
            self._tools = await self._entered().tools(self._limits.seconds)
        except ToolsetError as error:
            # In the midst of a step its calls say what is wrong, and other tools go on.
            if not self._tools.definitions:
                raise
            _logger.warning("%s", error)
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=definition,
                max_retries=ctx.max_retries,
                args_validator=_ANY_ARGUMENTS,
            )
            for name, definition in self._tools.definitions.items()
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[None],
        tool: ToolsetTool[None],  # noqa: ARG002 - the name says it all
    ) -> Any:
        """Have the server call a tool.

        Raises:
            ToolFailed: It can't be called, failed, or took too long; the run goes on.
        """
        if not self._tools.own_names:
            await self.get_tools(ctx)
        if (own := self._tools.own_names.get(name)) is None:
            raise ToolFailed(f"The MCP server {self._endpoint.shown} has no tool {name!r}.")
        return await self._entered().call(own, tool_args, self._limits.seconds)

    def _entered(self) -> ServerOwner:
        if self._owner is None:
            raise ToolsetError(f"The toolset {self.id} isn't open.", "Use it within async with.")
        return self._owner


@dataclass(frozen=True, slots=True)
class McpSource:
    """A server of a configuration."""

    endpoint: McpEndpoint
    limits: ToolLimits = field(default_factory=ToolLimits)

    @property
    def name(self) -> str:
        """The server's name."""
        return self.endpoint.name

    @property
    def about(self) -> str:
        """What its configuration says of it; "" if only its tools can say."""
        return self.endpoint.about

    @property
    def server(self) -> str:
        """The server's name: calls of all agents are bounded together."""
        return self.endpoint.name

    def toolset(self, use: ToolsetUse) -> Toolset:  # noqa: ARG002 - the same for all
        """Return a toolset that shares the server with all others of this event loop."""
        return McpToolset(self.endpoint, self.limits)
