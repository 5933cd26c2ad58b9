"""Servers over streamable HTTP: the SDK's own, and what happens when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import httpx2
import pytest
from mcp_http_server import ServerLog, http_app, http_server, served_app
from prefect_swarm.errors import ToolsetError
from prefect_swarm.toolsets.mcp import connection
from prefect_swarm.toolsets.mcp.configuration import HttpServer, McpEndpoint
from prefect_swarm.toolsets.mcp.owner import owned
from pydantic_ai.exceptions import ToolFailed
from raw_servers import context, opened
from starlette.responses import JSONResponse

pytestmark = pytest.mark.anyio

LONG_S = 60.0
HALF = rb"no \ud800tem"
"""Half a character as JSON has it, in as many bytes as what it stands for."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shop() -> Generator[tuple[str, ServerLog]]:
    with http_server() as served:
        yield served


def endpoint(url: str, **headers: str) -> McpEndpoint:
    return McpEndpoint(name="shop", how=HttpServer(url=url, headers=headers))


async def test_its_tools_are_called_with_the_headers_of_the_configuration(
    shop: tuple[str, ServerLog],
) -> None:
    url, heard = shop
    async with opened(endpoint(url, Authorization="Bearer abcdef")) as tools:
        assert sorted(tools.tools) == ["flood", "hang", "open_shop", "stock"]
        assert await tools.call("stock", item="apple") == 5
    assert set(heard.authorizations[-3:]) == {"Bearer abcdef"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_changed_list_is_noticed(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Newer servers say so to those alone who ask for a stream; older ones say so to all.
    monkeypatch.setattr(connection, "AskingClient", partial(connection.AskingClient, mode=mode))
    with http_server() as (url, _):
        async with opened(endpoint(url)) as tools:
            assert "price" not in tools.tools
            await tools.call("open_shop")
            assert "price" in await tools.toolset.get_tools(context())


async def test_a_refusal_says_status_words_and_what_to_do() -> None:
    answer = JSONResponse({"error": {"message": "Who are you?"}}, 401)
    with served_app(answer) as url:
        with pytest.raises(ToolsetError) as caught:
            async with opened(endpoint(url)):
                pass
        assert caught.value.problem == (
            "The MCP server shop can't be reached: it answered 401 Unauthorized: Who are you? "
            'It needs a token, such as "Bearer ${TOKEN}" in the header Authorization, '
            "or a login by OAuth: `prefect-swarm doctor --mcp FILE --login`."
        )
        with pytest.raises(ToolsetError, match="doesn't take the token of its Authorization"):
            async with opened(endpoint(url, Authorization="Bearer abcdef")):
                pass


class Guarded:
    """A shop that takes a token until it doesn't."""

    def __init__(self) -> None:
        self.is_open = True
        self._app = http_app(ServerLog())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_refused = scope["type"] == "http" and not self.is_open
        answer = JSONResponse({"message": "too old"}, 403) if is_refused else self._app
        await answer(scope, receive, send)


async def test_a_refusal_in_the_midst_costs_a_call_and_the_tools_stay() -> None:
    shop = Guarded()
    with served_app(shop) as url:
        async with opened(endpoint(f"{url}/mcp", Authorization="Bearer abcdef")) as tools:
            shop.is_open = False
            with pytest.raises(ToolFailed, match="it answered 403 Forbidden: too old") as caught:
                await tools.call("stock", item="fig")
            assert "abcdef" not in caught.value.message
            assert "stock" in await tools.toolset.get_tools(context())
            shop.is_open = True
            assert await tools.call("stock", item="fig") == 3


async def test_an_error_of_a_tool_is_for_the_model(shop: tuple[str, ServerLog]) -> None:
    async with opened(endpoint(shop[0])) as tools:
        with pytest.raises(ToolFailed, match="no such item"):
            await tools.call("stock", item="unicorn")
        with pytest.raises(ToolFailed, match="item"):
            await tools.call("stock", number=1)
        assert await tools.call("stock", item="pear") == 4


@pytest.mark.parametrize("json_response", [False, True])
async def test_half_a_character_costs_no_result(*, json_response: bool) -> None:
    with http_server(json_response=json_response, instead={b"no such item": HALF}) as (url, _):
        async with opened(endpoint(url)) as tools:
            with pytest.raises(ToolFailed, match="no \ufffdtem"):
                await tools.call("stock", item="unicorn")


async def test_a_call_that_is_never_answered_is_given_up_while_others_go_on(
    shop: tuple[str, ServerLog],
) -> None:
    url, heard = shop
    async with owned(endpoint(url), 4) as server:
        hung = asyncio.create_task(server.call("hang", {}, 1.0))
        assert await asyncio.to_thread(heard.hanging.wait, LONG_S)
        assert await server.call("stock", {"item": "fig"}, LONG_S) == 3
        with pytest.raises(ToolFailed, match="gave no answer within 1 s"):
            await hung
        assert await server.call("stock", {"item": "fig"}, LONG_S) == 3


@pytest.mark.parametrize("json_response", [False, True])
async def test_a_flood_costs_one_error(*, json_response: bool, capfd: Any) -> None:
    with http_server(json_response=json_response) as (url, _):
        async with opened(endpoint(url)) as tools:
            with pytest.raises(ToolFailed) as caught:
                await tools.call("flood")
            assert "8388608" in caught.value.message.replace(",", "")
            assert await tools.call("stock", item="fig") == 3
    assert capfd.readouterr() == ("", "")


async def test_a_server_that_went_away_and_came_back_is_reached_again() -> None:
    async with AsyncExitStack() as stack:
        with http_server() as (url, _):
            server = await stack.enter_async_context(owned(endpoint(url), 4))
            assert await server.call("stock", {"item": "fig"}, LONG_S) == 3
        for _ in range(5):
            with pytest.raises(ToolFailed, match="The MCP server shop "):
                await server.call("stock", {"item": "fig"}, LONG_S)
        with http_server(port=httpx2.URL(url).port or 0):
            assert await server.call("stock", {"item": "fig"}, LONG_S) == 3


async def test_a_server_that_forgot_the_session_gets_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As servers of the protocol's earlier versions are spoken to.
    monkeypatch.setattr(connection, "AskingClient", partial(connection.AskingClient, mode="legacy"))
    async with AsyncExitStack() as stack:
        with http_server() as (url, _):
            server = await stack.enter_async_context(owned(endpoint(url), 4))
            assert await server.call("stock", {"item": "fig"}, LONG_S) == 3
        with http_server(port=httpx2.URL(url).port or 0):
            with pytest.raises(ToolFailed, match="ended before it answered"):
                await server.call("stock", {"item": "fig"}, LONG_S)
            assert await server.call("stock", {"item": "fig"}, LONG_S) == 3


async def test_an_address_where_nothing_is_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(ToolsetError) as caught:
        async with opened(endpoint("http://127.0.0.1:9/mcp", Authorization="Bearer abcdef")):
            pass
    assert caught.value.problem.startswith("The MCP server shop can't be reached: ")
    assert "abcdef" not in caught.value.problem
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """Answer everything with a page."""
    if scope["type"] == "lifespan":
        return
    headers = [(b"content-type", b"text/html")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<h1>Welcome</h1>"})


async def test_an_address_of_something_else_is_told() -> None:
    with served_app(plain) as url, pytest.raises(ToolsetError) as caught:
        async with opened(endpoint(url)):
            pass
    assert "text/html" in caught.value.problem
