"""An answer of the local engine that is read while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import StreamedResponse

from ..api import GeneratedText, GenerateRequest
from ..tools.held_text import HeldText
from ..tools.parse import parse_answer
from .response import details_of, finish_of, usage_of

__all__ = ["LlamaCppStream", "StreamedText", "streamed_text"]

Generate = Callable[[GenerateRequest], Awaitable[GeneratedText]]


@dataclass(frozen=True)
class StreamedText:
    """An answer that is being written.

    Attributes:
        pieces: What is written, and the whole answer at last; an error of the request is raised.
        stop: Ends the request; the pieces end then, without a whole answer.
    """

    pieces: AsyncIterator[str | GeneratedText]
    stop: Callable[[], Awaitable[None]]


@asynccontextmanager
async def streamed_text(
    generate: Generate, request: GenerateRequest
) -> AsyncGenerator[StreamedText]:
    """Yield an answer while it is written; leaving ends the request."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    def hand_over(piece: str) -> None:
        # The engine's thread calls this; a loop that is closed has no reader any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

    task = asyncio.ensure_future(generate(replace(request, on_text=hand_over)))
    task.add_done_callback(lambda _: pieces.put_nowait(None))

    async def stop() -> None:
        task.cancel()
        await asyncio.wait([task])

    try:
        yield StreamedText(_until_done(pieces, task), stop)
    finally:
        await stop()
        if not task.cancelled():
            # Whoever left before the end has no use for what it ended with.
            task.exception()


async def _until_done(
    pieces: asyncio.Queue[str | None], task: asyncio.Future[GeneratedText]
) -> AsyncIterator[str | GeneratedText]:
    while (piece := await pieces.get()) is not None:
        yield piece
    if not task.cancelled():
        yield task.result()


@dataclass
class LlamaCppStream(StreamedResponse):
    """The response of a local model while it is written.

    Attributes:
        pieces: The pieces of the answer, and the whole of it at last.
        names: The tools that were offered; calls come when the answer has ended.
        stop: Ends the request.
    """

    pieces: AsyncIterator[str | GeneratedText]
    names: Collection[str]
    local_model_name: str
    stop: Callable[[], Awaitable[None]]
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        held = HeldText()
        async for piece in self.pieces:
            if isinstance(piece, str):
                fresh = held.add(piece) if self.names else piece
                for event in self._text(fresh):
                    yield event
                continue
            for event in self._end(piece, held):
                yield event

    def _text(self, text: str) -> list[ModelResponseStreamEvent]:
        if not text:
            return []
        manager = self._parts_manager
        return [*manager.handle_text_delta(vendor_part_id="text", content=text)]

    def _end(self, done: GeneratedText, held: HeldText) -> list[ModelResponseStreamEvent]:
        parsed = parse_answer(done.text, self.names)
        self._usage = usage_of(done)
        self.finish_reason = finish_of(done, parsed)
        self.provider_details = details_of(done)
        events = self._text(held.rest(parsed)) if self.names else []
        for number, call in enumerate(parsed.calls):
            events.append(
                self._parts_manager.handle_tool_call_part(
                    vendor_part_id=f"call {number}", tool_name=call.name, args=call.arguments
                )
            )
        return events

    async def close_stream(self) -> None:
        """End the request at its next token."""
        await self.stop()

    @property
    def model_name(self) -> str:
        """The model file's name."""
        return self.local_model_name

    @property
    def provider_name(self) -> str:
        """The provider's name."""
        return "llamacpp"

    @property
    def provider_url(self) -> None:
        """A local model has no address."""
        return

    @property
    def timestamp(self) -> datetime:
        """When the request began."""
        return self.started
