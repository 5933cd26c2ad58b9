"""The block for a server of tools."""

from __future__ import annotations

from typing import Any

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

__all__ = ["McpServer"]


class McpServer(Block):
    """An MCP server whose tools agents may have; a run takes it by `mcp="block:mcp-server/NAME"`.

    Example:
        Load a stored server and give its tools to a run:
        ```python
        from prefect_swarm.blocks import McpServer

        mcp_server_block = McpServer.load("BLOCK_NAME")
        entry = mcp_server_block.get_entry()
        ```
    """

    _block_type_name = "MCP Server"
    _block_type_slug = "mcp-server"
    _documentation_url = "https://modelcontextprotocol.io/docs"  # pyright: ignore[reportAssignmentType]

    command: str = Field(
        default="",
        title="Command",
        description="The program of a server that runs as a process; empty for one at a URL.",
        examples=["mcp-server-time", "uvx", "npx"],
    )
    args: list[str] = Field(
        default_factory=list[str], title="Arguments", description="The program's arguments."
    )
    env: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        title="Environment",
        description="Environment variables of the process, in addition to PATH, HOME and the like.",
    )
    cwd: str | None = Field(
        default=None, title="Folder", description="The folder that the process starts in."
    )
    url: str = Field(
        default="",
        title="URL",
        description="The address of a server; empty for a process.",
        examples=["https://tools.example.com/mcp"],
    )
    sse: bool = Field(
        default=False,
        title="SSE",
        description="The URL is that of an older server, which speaks SSE and no streamable HTTP.",
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        title="Headers",
        description="Headers of each request to the URL, such as Authorization.",
    )
    description: str = Field(
        default="", title="Description", description="What its tools are good for, in a sentence."
    )
    idempotent: list[str] = Field(
        default_factory=list[str],
        title="Idempotent Tools",
        description="Tools of which a call that may have been made already may be made again.",
    )
    acting: list[str] | None = Field(
        default=None,
        title="Acting Tools",
        description="Tools that change something outside the run; others of which the server says "
        "nothing then don't. Empty: what the server says, and all of which it says nothing.",
    )

    def get_entry(self) -> dict[str, Any]:
        """Return it as an entry of `mcpServers`, secrets in plain."""
        entry = {
            "command": self.command,
            "args": self.args,
            "env": _plain(self.env),
            "cwd": self.cwd,
            "url": self.url,
            "type": "sse" if self.url and self.sse else "",
            "headers": _plain(self.headers),
            "description": self.description,
        }
        marks = {"idempotent": self.idempotent, "acting": self.acting}
        return {key: value for key, value in entry.items() if value} | {"swarm": marks}


def _plain(secrets: dict[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}
