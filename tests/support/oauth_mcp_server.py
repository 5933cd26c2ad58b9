"""An MCP server that wants a login by OAuth, and its authorization server, on this machine.

Clients register themselves, an authorization needs a proof of the code's owner (PKCE), and a token
is renewed once by each refresh token.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

from mcp_http_server import ServerLog, http_app, served_app
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

__all__ = ["OAuthServer", "oauth_server"]


class OAuthServer:
    """What a server issued and was asked.

    Attributes:
        url: The MCP server's address.
        tokens: Access tokens that it takes.
        grants: The kinds of grants that were asked for, in their order.
        lives_s: Seconds after which a new token is said to end.
        refuses: Whether people refuse what they are asked.
        registers: Whether clients may register themselves.
    """

    def __init__(self, *, sse: bool) -> None:
        self.url = ""
        self.sse = sse
        self.tokens: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.grants: list[str] = []
        self.lives_s = 3600
        self.refuses = False
        self.registers = True
        self.heard = ServerLog()
        self._app = http_app(self.heard, sse=sse)
        self._challenges: dict[str, str] = {}
        self._number = 0

    def revoke(self) -> None:
        """Take no token any more that was issued so far."""
        self.tokens.clear()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._answer(request, str(request.base_url).rstrip("/"))
        await (answer or self._app)(scope, receive, send)

    async def _answer(self, request: Request, base: str) -> Response | None:
        path = request.url.path
        if path.startswith("/.well-known/oauth-protected-resource"):
            return JSONResponse({"resource": self.url, "authorization_servers": [f"{base}/auth"]})
        if path.startswith("/.well-known/oauth-authorization-server"):
            return JSONResponse(self._metadata(f"{base}/auth"))
        if path == "/auth/register":
            return self._registered(await request.json())
        if path == "/auth/authorize":
            return self._authorized(dict(request.query_params))
        if path == "/auth/token":
            body = parse_qs((await request.body()).decode())
            return self._token({name: values[0] for name, values in body.items()})
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token in self.tokens:
            return None
        where = f"{base}/.well-known/oauth-protected-resource{'/sse' if self.sse else '/mcp'}"
        challenge = f'Bearer error="invalid_token", resource_metadata="{where}"'
        return JSONResponse(
            {"error": "no such token"}, 401, headers={"WWW-Authenticate": challenge}
        )

    def _metadata(self, issuer: str) -> dict[str, Any]:
        found: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        return found | ({"registration_endpoint": f"{issuer}/register"} if self.registers else {})

    def _registered(self, asked: dict[str, Any]) -> Response:
        client = {**asked, "client_id": "a-client", "token_endpoint_auth_method": "none"}
        return JSONResponse(client, 201)

    def _authorized(self, asked: dict[str, str]) -> Response:
        back: dict[str, str] = {"state": asked["state"]}
        if self.refuses:
            back |= {"error": "access_denied", "error_description": "Not today"}
        else:
            code = self._new("code")
            self._challenges[code] = asked["code_challenge"]
            back |= {"code": code}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}")

    def _token(self, asked: dict[str, str]) -> Response:
        self.grants.append(asked["grant_type"])
        if asked["grant_type"] == "authorization_code":
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            is_good = self._challenges.pop(asked["code"], None) == proof
        else:
            is_good = asked["refresh_token"] in self.refresh_tokens
            self.refresh_tokens.discard(asked["refresh_token"])
        if not is_good:
            return JSONResponse({"error": "invalid_grant"}, 400)
        token, refresh = self._new("token"), self._new("refresh")
        self.tokens.add(token)
        self.refresh_tokens.add(refresh)
        return JSONResponse(
            {
                "access_token": token,
                "token_type": "Bearer",
                "expires_in": self.lives_s,
                "refresh_token": refresh,
            }
        )

    def _new(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number}-abcdef"


@contextmanager
def oauth_server(*, sse: bool = False) -> Generator[OAuthServer]:
    """Serve the tools of `http_server` to who has logged in."""
    server = OAuthServer(sse=sse)
    with served_app(server) as address:
        server.url = f"{address}/sse" if sse else f"{address}/mcp"
        yield server
