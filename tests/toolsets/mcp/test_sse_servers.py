"""Servers that speak the older protocol: events on one stream, requests beside it."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_http_server import ServerLog, http_app, http_server, served_app
from prefect_swarm.errors import ToolsetError
from prefect_swarm.toolsets.mcp.configuration import HttpServer, McpEndpoint
from pydantic_ai.exceptions import ToolFailed
from raw_servers import context, opened
from starlette.responses import JSONResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def endpoint(url: str, **headers: str) -> McpEndpoint:
    return McpEndpoint(name="shop", how=HttpServer(url=url, kind="sse", headers=headers))


async def test_its_tools_are_called_with_the_headers_of_the_configuration() -> None:
    with http_server(sse=True) as (url, heard):
        async with opened(endpoint(url, Authorization="Bearer abcdef")) as tools:
            assert "stock" in tools.tools
            assert await tools.call("stock", item="apple") == 5
            with pytest.raises(ToolFailed, match="no such item"):
                await tools.call("stock", item="unicorn")
    assert set(heard.authorizations) == {"Bearer abcdef"}


async def test_a_changed_list_is_noticed() -> None:
    with http_server(sse=True) as (url, _):
        async with opened(endpoint(url)) as tools:
            await tools.call("open_shop")
            assert "price" in await tools.toolset.get_tools(context())


class Closing:
    """Takes requests until it is closed, and refuses them from then on."""

    def __init__(self) -> None:
        self.is_closed = False
        self._app = http_app(ServerLog(), sse=True)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_refused = self.is_closed and scope.get("method") == "POST"
        answer = JSONResponse({"message": "closed for today"}, 503) if is_refused else self._app
        await answer(scope, receive, send)


async def test_a_request_that_is_refused_is_not_waited_for() -> None:
    closing = Closing()
    with served_app(closing) as url:
        async with opened(endpoint(f"{url}/sse")) as tools:
            assert await tools.call("stock", item="fig") == 3
            closing.is_closed = True
            with pytest.raises(ToolFailed, match="503 Service Unavailable: closed for today"):
                await tools.call("stock", item="fig")
            closing.is_closed = False
            assert await tools.call("stock", item="fig") == 3


async def test_a_server_of_the_newer_kind_is_told_from_one_of_the_older() -> None:
    with http_server() as (url, _), pytest.raises(ToolsetError, match="can't be reached"):
        async with opened(endpoint(url)):
            pass
