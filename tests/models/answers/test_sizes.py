"""An answer that is larger than any model writes is an error, whichever way it is large."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import httpx2
import pytest
from growth import growth
from openai import AsyncOpenAI
from prefect_swarm.models.answers.compatible import compatible
from prefect_swarm.models.answers.stream import read_response
from prefect_swarm.models.answers.usage import bound_answers
from prefect_swarm.models.streaming import request_streaming, streaming_to
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

ASKED = ModelRequestParameters(function_tools=[ToolDefinition(name="look")])


class Deaf:
    def begin(self) -> None: ...
    def add(self, piece: str) -> None: ...


class Body(httpx2.AsyncByteStream):
    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


def whole(**message: Any) -> list[bytes]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return [json.dumps({**head, "choices": [choice]}).encode()]


def event(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


def call(index: int) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    return {"index": index, "id": f"c{index}", "type": "function", "function": function}


def endless(part: bytes) -> Iterator[bytes]:
    while True:
        yield part


async def _answer(parts: Iterable[bytes], *, streamed: bool) -> ModelResponse:
    kind = "text/event-stream" if streamed else "application/json"

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": kind}, stream=Body(parts))

    transport = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
    client = AsyncOpenAI(
        base_url="http://server/v1", api_key="none", max_retries=0, http_client=transport
    )
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
    bound_answers(model)
    messages = [ModelRequest(parts=[UserPromptPart("Look.")])]
    async with client:
        with streaming_to(Deaf(), of_providers=streamed, of_calls=True):
            heard = await request_streaming(compatible(model), [*messages], None, ASKED)
        return read_response(heard, ASKED)


def answer(parts: Iterable[bytes], *, streamed: bool) -> ModelResponse:
    return asyncio.run(_answer(parts, streamed=streamed))


@pytest.mark.attack("load")
@pytest.mark.parametrize(
    ("parts", "streamed", "why"),
    [
        ([b'{"choices": "', *[b"x" * 2**20] * 50, b'"}'], False, "8,388,608 bytes"),
        (endless(b"x" * 2**20), False, "8,388,608 bytes"),
        (whole(content="", tool_calls=[call(n) for n in range(10_000)]), False, "10,000 objects"),
        (whole(content="", tool_calls=[call(n) for n in range(501)]), False, "501 calls"),
        ([b'{"choices": [', b"{}, " * 50_000, b"{}]}"], False, "10,000 objects"),
        (endless(b"data: " + b"x" * 2**20), True, "8,388,608 bytes"),
        (endless(b"data: \n" * 10_000), True, "bytes"),
        (endless((b": " + b"waits " * 200 + b"\n\n") * 100), True, "67,108,864 bytes"),
    ],
    ids=["text", "endless", "calls", "some calls", "choices", "line", "lines", "comments"],
)
def test_what_no_model_writes_is_an_error(parts: Iterable[bytes], streamed: bool, why: str) -> None:
    with pytest.raises(ModelAPIError, match=why):
        answer(parts, streamed=streamed)


@pytest.mark.attack("load")
def test_the_calls_of_a_stream_are_counted_before_they_are_compared() -> None:
    with pytest.raises(ModelAPIError, match="501 calls"):
        answer(
            (event(tool_calls=[call(0) | {"index": n, "id": f"c{n}"}]) for n in range(501)),
            streamed=True,
        )


def test_a_long_text_and_a_hundred_calls_are_read() -> None:
    text = answer(whole(content="word " * 200_000), streamed=False)
    assert len(text.text or "") > 900_000
    called = answer(whole(content="", tool_calls=[call(n) for n in range(100)]), streamed=False)
    assert len(called.tool_calls) == 100
    pieces = [event(content="word "), event("stop"), b"data: [DONE]\n\n"]
    assert (answer(pieces, streamed=True)).text == "word "


def test_an_event_comes_whole_however_it_is_cut() -> None:
    stream = event(content="word") + event("stop") + b"data: [DONE]\n\n"
    assert (answer([bytes([byte]) for byte in stream], streamed=True)).text == "word"


@pytest.mark.attack("load")
@pytest.mark.parametrize("piece", [{"content": ""}, {"reasoning_content": "hm"}, {"content": "x"}])
def test_a_stream_of_many_pieces_takes_a_time_that_grows_as_it_does(piece: dict[str, str]) -> None:
    def read(count: int) -> None:
        parts = [*[event(**piece)] * count, event(content="a"), event("stop"), b"data: [DONE]\n\n"]
        answer(parts, streamed=True)

    assert growth(read, 100) < 9
