"""Partial text of a model, passed to a sink while the model writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from ..errors import SwarmError
from ..text import whole_characters
from .answers.completion import is_whole
from .answers.provider_errors import words_of
from .answers.stream import keep_calls_apart
from .request_context import Streaming, TextSink, current_request, request_context

__all__ = ["request_streaming", "sink_for_thread", "streaming_to", "without_streaming"]


_OTHERWISE_REJECTED = (
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
)
"""What is rejected for another reason than the form of the request."""


@contextmanager
def streaming_to(sink: TextSink, *, of_providers: bool, of_calls: bool = False) -> Generator[None]:
    """Pass what models write inside to a sink.

    Args:
        sink: Is called in the thread of the event loop.
        of_providers: Whether providers are asked to stream, which is another request to them; what
            model files write is streamed in any case.
        of_calls: Whether the arguments of tool calls are streamed, too; each call begins anew.
    """
    with request_context(streaming=Streaming(sink, of_providers, of_calls)):
        yield


@contextmanager
def without_streaming() -> Generator[None]:
    """Ask models inside for whole answers."""
    with request_context(streaming=None):
        yield


def sink_for_thread() -> Callable[[str], None] | None:
    """Begin a request of a model file; return what its engine's thread calls with each piece.

    None where nobody listens.
    """
    if (streaming := current_request().streaming) is None:
        return None
    loop, sink = asyncio.get_running_loop(), streaming.sink
    sink.begin()

    def hand_over(piece: str) -> None:
        # A loop that is closed has no sink any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(sink.add, piece)

    return hand_over


async def request_streaming(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
) -> ModelResponse:
    """Ask a provider's model, with streaming where there is a sink.

    A model that can't stream is asked as if nobody did, and so is one whose server says that it
    takes no such request as a stream.

    Raises:
        ModelAPIError: The provider refuses, or the answer breaks off.
    """
    streaming = current_request().streaming
    if streaming is None or not streaming.of_providers:
        return await model.request(messages, settings, parameters)
    try:
        async with model.request_stream(messages, settings, parameters) as stream:
            return await _streamed(model, stream, streaming, parameters)
    except ModelRequestRejectedError as error:
        # Some servers take tools, and streams, but not both.
        refuses_streams = "stream" in words_of(error).lower() and not error.in_stream
        if not refuses_streams or isinstance(error, _OTHERWISE_REJECTED):
            raise
        return await model.request(messages, settings, parameters)
    except (NotImplementedError, AssertionError):
        # By either a model of pydantic-ai says that it can't stream.
        return await model.request(messages, settings, parameters)


async def _streamed(
    model: Model,
    stream: StreamedResponse,
    streaming: Streaming,
    parameters: ModelRequestParameters,
) -> ModelResponse:
    """Hear a stream to its end, and return the answer; a broken one too, if it is whole."""
    keep_calls_apart(stream)
    streaming.sink.begin()
    try:
        async for event in stream:
            _pass_on(event, streaming)
    except Exception as error:
        answer = stream.get()
        if is_whole(answer, parameters):
            return answer
        if isinstance(error, ModelConnectionError) and not streaming.of_calls:
            raise
        if isinstance(error, SwarmError | AgentRunError) and not isinstance(
            error, ModelConnectionError
        ):
            raise
        # Of no kind: who reads a plan has a better way on than to have it written ever again.
        broke_off = f"The answer broke off: {error!r}"
        raise ModelAPIError(model.model_name, broke_off) from error
    return stream.get()


def _pass_on(event: ModelResponseStreamEvent, streaming: Streaming) -> None:
    sink = streaming.sink
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            sink.add(whole_characters(text))
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            sink.add(whole_characters(text))
        case PartStartEvent(part=ToolCallPart() as call) if streaming.of_calls:
            sink.begin()
            # A piece of JSON, or all of it as an object.
            args = call.args or ""
            text = args if isinstance(args, str) else call.args_as_json_str()
            sink.add(whole_characters(text))
        case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str() as text)) if (
            streaming.of_calls
        ):
            sink.add(whole_characters(text))
        case _:
            pass
