"""A login by OAuth is made once, with a person; afterwards it is renewed without."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
from oauth_mcp_server import OAuthServer, oauth_server
from prefect_swarm.errors import ToolsetError
from prefect_swarm.toolsets.mcp.configuration import HttpServer, McpEndpoint, OAuthClient
from prefect_swarm.toolsets.mcp.oauth import LoginFile, log_in, stored_login
from raw_servers import opened

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("swarm_home")]

HINT = "prefect-swarm doctor --mcp FILE --login"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def shop() -> Generator[OAuthServer]:
    with oauth_server() as server:
        yield server


def endpoint(server: OAuthServer, **client: str) -> McpEndpoint:
    kind = "sse" if server.sse else "http"
    how = HttpServer(url=server.url, kind=kind, oauth=OAuthClient.model_validate(client))
    return McpEndpoint(name="shop", how=how)


async def browse(address: str) -> None:
    """Go where a browser would be led."""
    async with httpx2.AsyncClient(follow_redirects=False) as client:
        back = (await client.get(address)).headers["location"]
        page = await client.get(back)
        assert page.status_code == 200


async def look_away(address: str) -> None:
    """Look at no address."""


async def stock(server: OAuthServer) -> int:
    """Ask as a process would that knows of a login what the file has."""
    async with opened(endpoint(server)) as tools:
        return await tools.call("stock", item="apple")


async def refused(server: OAuthServer) -> str:
    with pytest.raises(ToolsetError) as caught:
        await stock(server)
    return caught.value.problem


def login_file(server: OAuthServer) -> Path:
    return LoginFile(HttpServer(url=server.url)).path


async def test_without_a_login_the_server_says_what_it_wants(shop: OAuthServer) -> None:
    problem = await refused(shop)
    assert "it answered 401 Unauthorized: no such token." in problem
    assert 'It needs a token, such as "Bearer ${TOKEN}" in the header Authorization' in problem
    assert HINT in problem


@pytest.mark.parametrize("sse", [False, True])
async def test_after_a_login_its_tools_are_called(*, sse: bool) -> None:
    with oauth_server(sse=sse) as shop:
        assert await log_in(endpoint(shop), browse) is True
        assert await stock(shop) == 5
        assert shop.grants == ["authorization_code"]
        mode = login_file(shop).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
        assert stat.S_IMODE(login_file(shop).parent.stat().st_mode) == 0o700


async def test_a_token_that_has_expired_is_renewed_by_a_later_process(shop: OAuthServer) -> None:
    shop.lives_s = -60
    await log_in(endpoint(shop), browse)
    shop.revoke()
    shop.lives_s = 3600
    assert await stock(shop) == 5
    assert shop.grants == ["authorization_code", "refresh_token"]
    assert await stock(shop) == 5
    assert shop.grants == ["authorization_code", "refresh_token"]


async def test_of_several_processes_that_find_an_expired_token_a_single_process_renews_it(
    shop: OAuthServer,
) -> None:
    shop.lives_s = -60
    await log_in(endpoint(shop), browse)
    shop.revoke()
    shop.lives_s = 3600

    async def status() -> int:
        how = endpoint(shop).how
        assert isinstance(how, HttpServer)
        # Each has read the file by itself, as another process would.
        async with httpx2.AsyncClient(auth=stored_login(how)) as client:
            return (await client.get(f"{shop.url}-none")).status_code

    assert await asyncio.gather(*(status() for _ in range(5))) == [404] * 5
    assert shop.grants == ["authorization_code", "refresh_token"]


async def test_a_token_that_is_taken_back_early_is_renewed(shop: OAuthServer) -> None:
    await log_in(endpoint(shop), browse)
    async with opened(endpoint(shop)) as tools:
        assert await tools.call("stock", item="apple") == 5
        shop.revoke()
        calls = [tools.call("stock", item="x" * n) for n in (1, 2, 3)]
        assert await asyncio.gather(*calls) == [1, 2, 3]
    assert shop.grants == ["authorization_code", "refresh_token"]


async def test_a_login_that_can_not_be_renewed_has_to_be_made_again(shop: OAuthServer) -> None:
    await log_in(endpoint(shop), browse)
    shop.revoke()
    shop.refresh_tokens.clear()
    problem = await refused(shop)
    assert f"The stored login counts no more: log in again with `{HINT}`" in problem
    assert await log_in(endpoint(shop), browse) is True
    assert await stock(shop) == 5


async def test_a_person_may_refuse(shop: OAuthServer) -> None:
    shop.refuses = True
    with pytest.raises(ToolsetError, match="the login was refused: Not today"):
        await log_in(endpoint(shop), browse)
    assert not login_file(shop).exists()


async def test_a_login_is_not_waited_for_for_ever(shop: OAuthServer) -> None:
    with pytest.raises(ToolsetError, match=r"nobody has logged in within 0\.5 s"):
        await log_in(endpoint(shop), look_away, 0.5)


async def test_a_client_that_was_registered_by_hand_is_used(shop: OAuthServer) -> None:
    shop.registers = False
    seen: list[str] = []

    async def look(address: str) -> None:
        seen.append(address)
        await browse(address)

    assert await log_in(endpoint(shop, clientId="by-hand"), look) is True
    assert "client_id=by-hand" in seen[0]
    assert json.loads(login_file(shop).read_text())["client"]["client_id"] == "by-hand"


async def test_a_server_that_asks_for_nothing_needs_no_login(shop: OAuthServer) -> None:
    shop.tokens.add("")
    assert await log_in(endpoint(shop), look_away) is False
