"""A connection whose request doesn't come to its end is closed, and one too many is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from prefect_swarm.serve.connection import BoundedConnection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from uvicorn.server import ServerState

BODY = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n"
CHUNKS = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Hasty(BoundedConnection):
    read_s = 0.1
    most = 3


async def echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await request.body() or "nothing")


@asynccontextmanager
async def served() -> AsyncGenerator[int]:
    app = Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])
    config = uvicorn.Config(app, http=Hasty, lifespan="off", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Hasty(config, state, {}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.attack("load")
@pytest.mark.parametrize(
    ("begun", "drip"),
    [
        (b"", b""),
        (b"GET / HT", b""),
        (b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
        (BODY, b""),
        (BODY + b"ab", b""),
        (CHUNKS, b"1\r\nx\r\n"),
        (GET + b"GET / HT", b"T"),
    ],
    ids=["nothing", "a line", "headers", "no body", "half a body", "chunks", "a second request"],
)
def test_a_request_that_never_ends_is_closed(begun: bytes, drip: bytes) -> None:
    async def scenario() -> None:
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)

            async def go_on() -> None:
                while drip:
                    writer.write(drip)
                    await asyncio.sleep(0)

            dripping = asyncio.create_task(go_on())
            try:
                await reader.read(-1)
            except ConnectionError:
                # It was closed while more was on its way.
                pass
            finally:
                dripping.cancel()
                writer.close()

    asyncio.run(scenario())


def test_a_request_in_parts_is_answered_and_another_on_the_same_connection() -> None:
    async def scenario() -> None:
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):
                writer.write(BODY)
                await writer.drain()
                writer.write(b"hello")
                assert (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
            writer.close()

    asyncio.run(scenario())


@pytest.mark.attack("load")
def test_a_connection_too_many_is_refused_and_others_are_served() -> None:
    async def scenario() -> None:
        async with served() as port:
            first = await asyncio.open_connection("127.0.0.1", port)
            first[1].write(GET)
            await first[0].readuntil(b"nothing")
            others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            assert (await others[-1][0].read(-1)).startswith(b"HTTP/1.1 503")
            first[1].write(GET)
            assert (await first[0].readuntil(b"nothing")).startswith(b"HTTP/1.1 200")
            for _, writer in (first, *others):
                writer.close()

    asyncio.run(scenario())
