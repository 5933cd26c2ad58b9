"""A login by OAuth at a server, with a person at a browser; what comes of it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult

from ...errors import ToolsetError
from ...host.network import CA_FIX, certificate_problem
from ...text import one_line
from .address import quieten
from .configuration import HttpServer, McpEndpoint
from .oauth_store import SwarmOAuth

__all__ = ["LOGIN_S", "log_in"]


LOGIN_S = 300.0
"""Seconds that a person has for a login."""
_PAGE = "<!doctype html><title>Prefect Swarm</title><p>%s You may close this page."
_ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "Prefect Swarm", "version": "1"},
    },
}


async def log_in(
    endpoint: McpEndpoint, show: Callable[[str], Awaitable[None]], seconds: float = LOGIN_S
) -> bool:
    """Log in at a server if it asks for that, and say whether it did.

    Args:
        endpoint: The server.
        show: Shows a person the address at which they log in.
        seconds: How long they have.

    Raises:
        ToolsetError: It didn't work; says why, and what to do.
    """
    server = endpoint.how
    if not isinstance(server, HttpServer) or _has_token(server):
        return False
    quieten()
    try:
        async with asyncio.timeout(seconds), _callback(server.oauth.callback_port) as (uri, came):
            oauth = _FreshLogin(server, uri, redirect_handler=show, callback_handler=lambda: came)
            status = await _ask(server, oauth)
    except TimeoutError:
        raise _failed(endpoint, f"nobody has logged in within {seconds:g} s") from None
    except (OAuthFlowError, httpx2.HTTPError, OSError, ValueError) as error:
        why = one_line(str(error), 300) or type(error).__name__
        fix = CA_FIX if certificate_problem(error) else _FIX
        raise _failed(endpoint, why, fix) from error
    if status in (401, 403):
        raise _failed(endpoint, f"it answers {status} after the login, too")
    return oauth.has_asked


class _FreshLogin(SwarmOAuth):
    """Begins anew: what is kept from before may be why a login is needed."""

    has_asked = False

    async def _initialize(self) -> None:
        self.context.client_info = await self.file.registered_by_hand()
        self._initialized = True

    async def _perform_authorization(self) -> httpx2.Request:
        self.has_asked = True
        return await super()._perform_authorization()


async def _ask(server: HttpServer, oauth: SwarmOAuth) -> int:
    headers = {**server.headers, "accept": "application/json, text/event-stream"}
    async with create_mcp_http_client(headers=headers, auth=oauth) as client:
        is_sse = server.kind == "sse"
        body = None if is_sse else _ASKED
        async with client.stream("GET" if is_sse else "POST", server.url, json=body) as answer:
            return answer.status_code


@asynccontextmanager
async def _callback(
    port: int,
) -> AsyncGenerator[tuple[str, asyncio.Future[AuthorizationCodeResult]]]:
    """Listen where the authorization server leads the browser back to, for one answer."""
    came: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readline()).decode("ascii", "replace").split(" ")
            target = urlsplit(line[1] if len(line) > 1 else "")
            found = {name: values[0] for name, values in parse_qs(target.query).items()}
            text = _take(found, came) if target.path == "/callback" else "Nothing is here."
            page = (_PAGE % text).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
            writer.write(head.encode() + b"Connection: close\r\n\r\n" + page)
            await writer.drain()
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", port)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/callback", came


def _take(found: dict[str, str], came: asyncio.Future[AuthorizationCodeResult]) -> str:
    if came.done():
        return "This login is over."
    if code := found.get("code"):
        came.set_result(
            AuthorizationCodeResult(code=code, state=found.get("state"), iss=found.get("iss"))
        )
        return "You are logged in."
    why = found.get("error_description") or found.get("error") or "no code came back"
    came.set_exception(OAuthFlowError(f"the login was refused: {why}"))
    return "The login was refused."


def _has_token(server: HttpServer) -> bool:
    return any(name.lower() == "authorization" for name in server.headers)


def _failed(endpoint: McpEndpoint, why: str, fix: str | None = None) -> ToolsetError:
    problem = f"The login at the MCP server {endpoint.shown} didn't work: {why.rstrip('.')}."
    return ToolsetError(problem, fix or _FIX)


_FIX = (
    "A server that registers no clients needs oauth.clientId in its configuration, "
    "or a token in its headers: docs/how-to/tools.md."
)
