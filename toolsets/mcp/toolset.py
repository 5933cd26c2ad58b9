"""One server is one toolset; the servers that a run's options name."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from prefect.blocks.core import Block, UnknownBlockType
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ...errors import InputError, ToolsetError
from ...files import read_text
from ..catalogue import Toolset, ToolsetUse
from ..elicitation import current_replies
from ..names import ToolLimits
from .configuration import McpEndpoint, read_servers, server_of
from .listing import ToolList
from .owner import ServerOwner, owned
from .written import folder_variables, slugs

__all__ = ["McpSource", "McpToolset", "servers_named"]


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
            ToolsetError: The server is not available, or gives none in time, and never did.
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
            ElicitedError: The server asks its user something that nobody has answered yet.
            ToolFailed: It can't be called, failed, or took too long; the run goes on.
        """
        if not self._tools.own_names:
            await self.get_tools(ctx)
        if (own := self._tools.own_names.get(name)) is None:
            raise ToolFailed(f"The MCP server {self._endpoint.shown} has no tool {name!r}.")
        replies = current_replies()
        return await self._entered().call(own, tool_args, self._limits.seconds, replies)

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


_BLOCK = "block:"
_SLUG = "mcp-server"


async def servers_named(
    named: str | None, variables: Mapping[str, str] | None = None
) -> tuple[McpEndpoint, ...]:
    """Return the servers of files and blocks.

    Args:
        named: Configuration files and `block:mcp-server/NAME`, with commas between.
        variables: What `${NAME}` in files stands for; the environment, if left out.

    Raises:
        InputError: A file or block can't be read, is wrong, or two servers have a name.
    """
    variables = os.environ if variables is None else variables
    found: dict[str, McpEndpoint] = {}
    for name in filter(None, (part.strip() for part in (named or "").split(","))):
        for server in await _servers(name, variables):
            if found.get(server.shown, server) != server:
                raise InputError(
                    f"Two MCP servers are named {server.shown!r}; the second is of {name}.",
                    "Rename one of them: agents are given tools by that name.",
                )
            found[server.shown] = server
    # Names of several files may differ, and their slugs be equal.
    slug_of = slugs(found)
    return tuple(_called(server, slug_of[shown]) for shown, server in found.items())


def _called(server: McpEndpoint, name: str) -> McpEndpoint:
    if server.name == name:
        return server
    return server.model_copy(update={"name": name, "title": server.shown})


async def _servers(name: str, variables: Mapping[str, str]) -> tuple[McpEndpoint, ...]:
    if not name.startswith(_BLOCK):
        return _of_file(Path(name), variables)
    slug, _, block_name = name.removeprefix(_BLOCK).partition("/")
    if slug != _SLUG or not block_name:
        raise InputError(f"{name} is not a block of an MCP server.", "Write block:mcp-server/NAME.")
    try:
        block: Any = await Block.aload(f"{_SLUG}/{block_name}")
    except (ValueError, UnknownBlockType) as error:
        raise InputError(
            f"There is no block of an MCP server {block_name!r}: {error}.",
            "Create it in the Prefect UI, or see `prefect block ls`.",
        ) from None
    # The user wrote its values into a form, where no variable of this process is meant.
    slug = slugs([block_name])[block_name]
    server = server_of(block_name, block.get_entry(), None, name, slug=slug)
    return () if server is None else (server,)


def _of_file(path: Path, variables: Mapping[str, str]) -> tuple[McpEndpoint, ...]:
    text = read_text(path, "MCP configuration")
    known = folder_variables(path.absolute(), str(Path.home())) | dict(variables)
    folder = path.absolute().parent

    def read(name: str) -> str:
        return read_text(folder / name, "envFile")

    servers = read_servers(text, known, str(path), read)
    passed_over = [
        f"{server.shown}: {', '.join(server.passed_over)}"
        for server in servers
        if server.passed_over
    ]
    if passed_over:
        _logger.info("%s has keys that mean nothing here. %s", path, "; ".join(passed_over))
    return servers
