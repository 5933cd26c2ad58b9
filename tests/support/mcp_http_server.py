"""A real MCP server over streamable HTTP on this machine, and some that are no such servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.requests import Request

__all__ = ["FLOOD_BYTES", "ServerLog", "http_app", "http_server", "served_app"]

FLOOD_BYTES = 50_000_000


class ServerLog:
    """What a server was asked with.

    Attributes:
        authorizations: The header of each request, "" without.
        hanging: Set when a call of `hang` has begun.
    """

    def __init__(self) -> None:
        self.authorizations: list[str] = []
        self.hanging = threading.Event()


def _server(heard: ServerLog) -> MCPServer:
    server: MCPServer = MCPServer("shop")

    @server.tool()
    def stock(item: str) -> int:
        """Say how many of an item there are."""
        if item == "unicorn":
            raise ToolError("no such item")
        return len(item)

    @server.tool()
    async def hang() -> str:
        """Never answer."""
        import anyio

        heard.hanging.set()
        await anyio.sleep_forever()
        return ""

    @server.tool()
    def flood() -> str:
        """Give 50 MB."""
        return "x" * FLOOD_BYTES

    @server.tool()
    async def open_shop(context: Context[Any]) -> str:
        """Add the tool `price`, and say so."""

        def price(item: str) -> int:
            return 2 * len(item)

        server.add_tool(price)
        await context.session.send_tool_list_changed()
        await context.notify_tools_changed()
        return "open"

    return server


def http_app(heard: ServerLog, *, json_response: bool = False, sse: bool = False) -> Any:
    """Return an application with the tools `stock`, `hang`, `flood` and `open_shop`."""
    server = _server(heard)
    return server.sse_app() if sse else server.streamable_http_app(json_response=json_response)


@contextmanager
def http_server(
    *,
    json_response: bool = False,
    sse: bool = False,
    port: int = 0,
    instead: Mapping[bytes, bytes] | None = None,
) -> Generator[tuple[str, ServerLog]]:
    """Serve the tools of `http_app`; yield the address and what is heard.

    Args:
        json_response: Whether it answers with JSON instead of a stream.
        port: The port; any that is free if it is 0.
        instead: Bytes that are sent in the place of others, of the same length.
    """
    heard = ServerLog()
    app = http_app(heard, json_response=json_response, sse=sse)

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            heard.authorizations.append(Request(scope).headers.get("authorization", ""))

        async def sending(message: Any) -> None:
            for before, after in (instead or {}).items():
                if message["type"] == "http.response.body":
                    body = message.get("body", b"").replace(before, after)
                    message = {**message, "body": body}
            await send(message)

        await app(scope, receive, sending)

    with served_app(noting, port) as address:
        yield f"{address}/{'sse' if sse else 'mcp'}", heard


@contextmanager
def served_app(app: Any, port: int = 0) -> Generator[str]:
    """Serve an application in a thread; yield its address."""
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()
