"""Reading the servers that a run's options name."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from ...blocks import McpServer
from ...errors import InputError
from ...text_files import read_text
from .configuration import McpEndpoint, read_servers, server_of
from .written import folder_variables, slugs

__all__ = ["servers_named"]

_logger = logging.getLogger("prefect_swarm.toolsets")
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
        raise InputError(f"{name} is no block of an MCP server.", "Write block:mcp-server/NAME.")
    try:
        block = await McpServer.aload(block_name)
    except ValueError as error:
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
