"""Logins by OAuth at servers: made with a person at a browser, stored, and renewed.

They are files of the data folder.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TextIO
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from ...data_types import Moment
from ...errors import ToolsetError
from ...files import make_folder, write_atomically
from ...host.network import CA_FIX, certificate_problem
from ...settings import home
from ...text import one_line
from ...untrusted.folder import UntrustedFolder, read_file
from .configuration import HttpServer, McpEndpoint
from .session import quieten

__all__ = ["LOGIN_S", "LoginFile", "LoginRecord", "SwarmOAuth", "log_in", "stored_login"]

_FOLDER = "mcp-logins"
_EARLY_S = 30.0
"""Seconds before its end at which a token is renewed."""
_LOOK_AGAIN_S = 0.05
"""Seconds between two looks at whether another process has renewed a login."""


class LoginRecord(BaseModel):
    """A login; with when its token ends and where it is renewed, which the library forgets."""

    url: str
    tokens: OAuthToken
    expires_at: Moment | None = None
    client: OAuthClientInformationFull
    metadata: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


class LoginFile:
    """The login at one server, in a file that its owner alone may read."""

    def __init__(self, server: HttpServer) -> None:
        """Take a server; each address has a file of its own."""
        self.path: Path = home() / _FOLDER / f"{sha256(server.url.encode()).hexdigest()[:24]}.json"
        self._server = server

    def read(self) -> LoginRecord | None:
        """Return the login; None if there is none that can be read."""
        try:
            record = LoginRecord.model_validate_json(read_file(self.path))
        except (OSError, ValidationError):
            return None
        return record if record.url == self._server.url else None

    def write(self, login: LoginRecord) -> None:
        """Keep a login.

        Raises:
            OSError: It can't be written.
        """
        make_folder(self.path.parent)
        write_atomically(self.path, login.model_dump_json(exclude_none=True))

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Let a single process renew the login at a time: a server may take a refresh token once.

        The system lets go of the lock when the process dies.
        """
        try:
            folder, name = UntrustedFolder(self.path.parent), f"{self.path.stem}.lock"
            file = os.fdopen(folder.open_to_append(name), "a", encoding="ascii")
        except OSError:
            yield  # Who can't write there renews it for itself.
            return
        with file:
            while not _is_locked(file):  # noqa: ASYNC110 - another process says nothing
                await asyncio.sleep(_LOOK_AGAIN_S)
            yield

    # What the library's client asks a store for.

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        record = self.read()
        return record.tokens if record else None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client: one that was registered by hand, or by an earlier login."""
        record = self.read()
        return await self.registered_by_hand() or (record.client if record else None)

    async def registered_by_hand(self) -> OAuthClientInformationFull | None:
        """Return the client that the configuration has."""
        own = self._server.oauth
        if not own.client_id:
            return None
        return OAuthClientInformationFull(
            client_id=own.client_id,
            client_secret=own.client_secret or None,
            token_endpoint_auth_method="client_secret_post" if own.client_secret else "none",
        )

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Leave it to `SwarmOAuth`, which knows more than the tokens."""

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Leave it to `SwarmOAuth`: a client without a token is of no use."""


def _is_locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks.
    return True


class SwarmOAuth(OAuthClientProvider):
    """The library's client, which keeps what a later process needs to renew a token."""

    def __init__(self, server: HttpServer, redirect_uri: str, **handlers: object) -> None:
        """Take a server, the address that a login leads back to, and the library's handlers."""
        self.file = LoginFile(server)
        metadata = OAuthClientMetadata(
            client_name="Prefect Swarm",
            redirect_uris=[AnyUrl(redirect_uri)],
            scope=server.oauth.scope or None,
        )
        super().__init__(server.url, metadata, self.file, **handlers)  # pyright: ignore[reportArgumentType]

    async def restore(self) -> None:
        """Take the login of the file, what the library leaves behind included."""
        await self._initialize()
        if (record := self.file.read()) is not None:
            self.context.token_expiry_time = record.expires_at and record.expires_at - _EARLY_S
            self.context.oauth_metadata = record.metadata
            self.context.protected_resource_metadata = record.resource

    async def renew(self, client: httpx2.AsyncClient) -> bool:
        """Renew the tokens, and say whether that was possible.

        Raises:
            httpx2.HTTPError: The authorization server can't be reached.
        """
        if not self.context.can_refresh_token():
            return False
        response = await client.send(await self._refresh_token())
        return await self._handle_refresh_response(response)

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        is_renewed = await super()._handle_refresh_response(response)
        if is_renewed:
            self._keep()
        return is_renewed

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        self._keep()

    def _keep(self) -> None:
        context = self.context
        if context.current_tokens is None or context.client_info is None:
            return
        seconds = context.current_tokens.expires_in
        self.file.write(
            LoginRecord(
                url=context.server_url,
                tokens=context.current_tokens,
                expires_at=None if seconds is None else time.time() + seconds,
                client=context.client_info,
                metadata=context.oauth_metadata,
                resource=context.protected_resource_metadata,
            )
        )


class _StoredLogin(httpx2.Auth):
    """Sends the token of a login, and renews it; asks nobody anything."""

    def __init__(self, oauth: SwarmOAuth) -> None:
        self._oauth = oauth
        self._lock = asyncio.Lock()
        self._is_restored = False

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and (other := await self._token(refused=token)) != token:
            request.headers["Authorization"] = f"Bearer {other}"
            yield request

    async def _token(self, refused: str = "") -> str:
        """Return a token that may be taken; not the one that was refused, if there is another."""
        async with self._lock:
            context = self._oauth.context
            is_fresh = self._is_restored and not refused and context.is_token_valid()
            if not is_fresh and not await self._restored(refused):
                async with self._oauth.file.alone():
                    # Another process may have renewed it since.
                    if not await self._restored(refused):
                        return await self._renewed()
            return _access_token(context.current_tokens)

    async def _restored(self, refused: str) -> bool:
        """Read the login again, and say whether its token may be taken."""
        await self._oauth.restore()
        self._is_restored = True
        context = self._oauth.context
        return context.is_token_valid() and _access_token(context.current_tokens) != refused

    async def _renewed(self) -> str:
        """Return a new token; the one that there was, if there is none."""
        context = self._oauth.context
        before = _access_token(context.current_tokens)
        async with create_mcp_http_client() as client:
            is_renewed = await self._oauth.renew(client)
        return _access_token(context.current_tokens) if is_renewed else before


def _access_token(tokens: OAuthToken | None) -> str:
    return tokens.access_token if tokens else ""


def stored_login(server: HttpServer) -> httpx2.Auth | None:
    """Return what sends the token of an earlier login at a server; None if there is none."""
    if LoginFile(server).read() is None:
        return None
    return _StoredLogin(SwarmOAuth(server, "http://127.0.0.1/callback"))


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
    "or a token in its headers: `prefect-swarm docs tools`."
)
