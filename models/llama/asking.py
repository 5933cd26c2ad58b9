"""Conversion between pydantic-ai's requests and the engine's."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from ...errors import InputError
from ...metrics.clock import run_time
from ...text import one_line
from ..names import Profile
from .api import GeneratedText, GenerateRequest, LocalTool
from .chat import to_chat
from .schema_grammar import schema_grammar
from .tool_calls import HeldText, ParsedAnswer, Style, parse_answer
from .turn_grammar import turn_grammar

__all__ = [
    "LlamaCppSettings",
    "LlamaCppStream",
    "OfferedTools",
    "StreamedText",
    "details_of",
    "finish_of",
    "offered_tools",
    "parts_of",
    "streamed_text",
    "to_request",
    "usage_of",
]


class LlamaCppSettings(ModelSettings, total=False):
    """Settings of a request to a local model, in addition to those every model has."""

    llamacpp_grammar: str
    """GBNF that the answer obeys; its start rule is `root`. A call may be written instead where
    the model has tools."""

    llamacpp_json_schema: str
    """JSON Schema that the answer is to fit, as far as a grammar can say it; `{}` is any object.
    A call may be written instead where the model has tools."""

    llamacpp_repeat_penalty: float
    """Divides the logits of what was written lately; 1 is none. Free text alone is penalised."""

    llamacpp_adapter: str
    """A GGUF file with a LoRA adapter that is applied to this answer alone."""

    llamacpp_begun: str
    """The beginning of the answer, which is written on; the response has what follows alone."""

    llamacpp_priority: float
    """Which of several waiting requests starts first; see `GenerateRequest.priority`."""

    llamacpp_watch: Callable[[str], str]
    """Called with the text so far every few tokens, returns why to stop; see
    `GenerateRequest.watch`. A stopped text has `aborted` among its provider details."""


@dataclass(frozen=True)
class OfferedTools:
    """The tools that the model reads about.

    Attributes:
        tools: All of them, the same at each turn of a conversation: so its beginning stays what it
            was, and isn't computed again when the choice is another.
        names: Those that it may call.
        forced: Whether the answer has to be a call of one of these.
    """

    tools: tuple[LocalTool, ...] = ()
    names: frozenset[str] = frozenset()
    forced: bool = False


def offered_tools(
    settings: ModelSettings, parameters: ModelRequestParameters, *, has_called: bool = False
) -> OfferedTools:
    """Decide by the setting `tool_choice` what is offered.

    Args:
        settings: The request's.
        parameters: What tools there are.
        has_called: Whether the conversation has calls: if so, the tools are named even
            where none may be called.

    Raises:
        InputError: It asks for tools that the request doesn't have.
    """
    choice = settings.get("tool_choice")
    functions, outputs = parameters.declared_function_tools, parameters.output_tools
    every = (*functions, *outputs)
    forced = not parameters.allow_text_output
    if choice == "required":
        outputs, forced = [], True
    elif isinstance(choice, ToolOrOutput):
        functions = [tool for tool in functions if tool.name in choice.function_tools]
    elif choice == "none" or choice == []:
        functions = []
    elif isinstance(choice, list):
        functions = [tool for tool in functions if tool.name in choice]
        outputs = [tool for tool in outputs if tool.name in choice]
        forced = True
    names = frozenset(tool.name for tool in (*functions, *outputs))
    if choice and choice not in ("none", "auto") and forced and not names:
        known = one_line(", ".join(sorted(parameters.declared_tool_defs)), 400) or "none"
        raise InputError(
            f"tool_choice is {choice!r}, but the tools of this request are: {known}.",
            "Name a tool that the agent has, or leave tool_choice out.",
        )
    tools = tuple(map(_local_tool, every)) if names or has_called else ()
    return OfferedTools(tools, names, forced and bool(names))


def _local_tool(tool: ToolDefinition) -> LocalTool:
    return LocalTool(tool.name, tool.description or "", tool.parameters_json_schema)


def parts_of(done: GeneratedText, names: Collection[str]) -> list[ModelResponsePart]:
    """The text of an answer and the calls in it; an answer of nothing is an empty text."""
    parsed = parse_answer(done.text, names)
    calls = [ToolCallPart(call.name, call.arguments) for call in parsed.calls]
    return [TextPart(parsed.text), *calls] if parsed.text or not calls else [*calls]


def usage_of(done: GeneratedText) -> RequestUsage:
    """What an answer took, in tokens."""
    return RequestUsage(
        input_tokens=done.input_tokens,
        cache_read_tokens=done.cached_tokens,
        output_tokens=done.output_tokens,
    )


def finish_of(done: GeneratedText, parsed: ParsedAnswer | None = None) -> FinishReason:
    """Why an answer ended."""
    if done.finish == "aborted":
        return "error"
    if parsed and parsed.calls and done.finish == "stop":
        return "tool_call"
    return done.finish


def details_of(done: GeneratedText) -> dict[str, Any]:
    """When it was asked, seconds of waiting and of work, and what `watch` stopped it for."""
    aborted = {"aborted": done.why} if done.why else {}
    asked_at = run_time() - done.queue_s - done.duration_s
    timing = {"asked_at": asked_at, "queue_s": done.queue_s, "duration_s": done.duration_s}
    return {**timing, **aborted}


def to_request(
    messages: Sequence[ModelMessage],
    instructions: str,
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    limits: Profile,
    offered: OfferedTools,
    style: Style,
) -> GenerateRequest:
    """Make the engine's request.

    Args:
        messages: The history.
        instructions: What stands before it.
        settings: The request's settings, over the model's.
        parameters: What the answer may be.
        limits: What an answer may take where the settings don't say.
        offered: The tools that the model reads about.
        style: How the model writes calls.

    Raises:
        InputError: It holds more than text, a value is out of range, or no grammar can be made.
    """
    options = cast("LlamaCppSettings", settings)
    defaults = GenerateRequest
    turn = turn_grammar(
        offered.tools,
        style,
        callable_names=offered.names,
        forced=offered.forced,
        # A forced call is a single one unless somebody wants several.
        several=options.get("parallel_tool_calls", not offered.forced),
        answer=options.get("llamacpp_grammar") or _answer_grammar(options, parameters),
        begun=options.get("llamacpp_begun", ""),
    )
    return GenerateRequest(
        messages=to_chat(messages, instructions),
        tools=offered.tools,
        max_tokens=options.get("max_tokens", limits.max_output_tokens or defaults.max_tokens),
        may_shorten="max_tokens" not in options,
        temperature=options.get("temperature", defaults.temperature),
        top_p=options.get("top_p", defaults.top_p),
        top_k=options.get("top_k", defaults.top_k),
        repeat_penalty=options.get("llamacpp_repeat_penalty", defaults.repeat_penalty),
        seed=options.get("seed"),
        stop=tuple(options.get("stop_sequences", ())),
        grammar=turn.grammar,
        leaves_text=turn.leaves_text,
        begun=options.get("llamacpp_begun", ""),
        watch=options.get("llamacpp_watch"),
        priority=options.get("llamacpp_priority", 0.0),
        deadline=_deadline(options),
    )


def _deadline(options: LlamaCppSettings) -> float | None:
    seconds = options.get("timeout")
    return time.monotonic() + seconds if isinstance(seconds, int | float) else None


def _answer_grammar(options: LlamaCppSettings, parameters: ModelRequestParameters) -> str | None:
    """What an answer is held to; what it allows beyond a schema is for the caller to refuse."""
    if parameters.output_object is not None:
        return schema_grammar(json.dumps(parameters.output_object.json_schema))
    if (schema := options.get("llamacpp_json_schema")) is None:
        return None
    try:
        return schema_grammar(schema)
    except InputError:
        # Without a grammar the prompt still has the schema in words.
        return None


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
            # A reader that left before the end needs no reason for it.
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
