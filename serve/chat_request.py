"""From a client's chat request to the engine's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..blocks.llama import GenerateRequest, LocalTool, LocalToolCall, Message
from ..blocks.llama.messages import ordered_turns
from ..blocks.llama.schemas import schema_grammar
from ..blocks.llama.tools import Style, turn_grammar
from ..errors import InputError
from ..text import one_line
from .api_errors import ApiError
from .chat_body import ChatBody, ChatBodyMessage

__all__ = ["ChatRequest", "chat_request"]


@dataclass(frozen=True)
class ChatRequest:
    """What the engine is asked, and how the client wants the answer.

    Attributes:
        generate: The engine's request.
        stream: Whether the answer goes out while it is written.
        usage: Whether a stream ends with the tokens that it took.
        names: The tools that the model may call.
    """

    generate: GenerateRequest
    stream: bool = False
    usage: bool = False
    names: frozenset[str] = frozenset()


def chat_request(body: ChatBody, *, max_tokens: int, style: Style) -> ChatRequest:
    """Make the engine's request of a client's.

    Args:
        body: What the client sent.
        max_tokens: What an answer may take where the client doesn't say.
        style: How the model writes calls of tools.

    Raises:
        ApiError: A tool or a schema can't be used; says which field.
    """
    tools, names, forced = _tools(body)
    several = body.parallel_tool_calls
    turn = turn_grammar(
        tools,
        style,
        callable_names=names,
        forced=forced,
        several=not forced if several is None else several,
        answer=None if forced else _answer_grammar(body),
    )
    asked = body.max_completion_tokens or body.max_tokens
    given: dict[str, Any] = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "top_k": body.top_k,
        "repeat_penalty": body.repeat_penalty,
        "seed": body.seed,
    }
    generate = GenerateRequest(
        messages=ordered_turns(_turns(body.messages)),
        max_tokens=asked or max_tokens,
        may_shorten=asked is None,
        stop=tuple(body.stop or ()),
        tools=tools,
        grammar=turn.grammar,
        leaves_text=turn.leaves_text,
        **{name: value for name, value in given.items() if value is not None},
    )
    usage = body.stream_options is not None and body.stream_options.include_usage
    return ChatRequest(generate, bool(body.stream), usage, names)


def _turns(messages: Iterable[ChatBodyMessage]) -> list[Message]:
    turns: list[Message] = []
    # A client may give several calls one id: then the results are in the calls' order.
    called: dict[str, list[str]] = {}
    for message in messages:
        calls = tuple(
            LocalToolCall(call.function.name, call.function.arguments, call.id)
            for call in message.tool_calls or ()
        )
        of_message: dict[str, list[str]] = {}
        for call in calls:
            of_message.setdefault(call.id, []).append(call.name)
        called |= of_message
        role = "system" if message.role == "developer" else message.role
        names = called.get(message.tool_call_id, []) if role == "tool" else []
        name = (names.pop(0) if len(names) > 1 else names[0]) if names else ""
        turns.append(Message(role, message.text, calls, message.tool_call_id, name))
    if not any(turn.content or turn.calls for turn in turns):
        raise ApiError(
            "messages hold no text.", "Give a message with content.", param="messages.0.content"
        )
    return turns


def _tools(body: ChatBody) -> tuple[tuple[LocalTool, ...], frozenset[str], bool]:
    """The tools that the model reads about, those it may call, and whether it has to call any."""
    tools = tuple(
        LocalTool(
            tool.function.name,
            tool.function.description or "",
            tool.function.parameters or {"type": "object", "properties": {}},
        )
        for tool in body.tools or ()
    )
    names = frozenset(tool.name for tool in tools)
    choice = body.tool_choice
    if choice == "none":
        # A conversation that began with tools goes on from the same beginning.
        return tools if any(turn.tool_calls for turn in body.messages) else (), frozenset(), False
    if choice is None or choice == "auto":
        return tools, names, False
    if choice != "required":
        names &= {choice.function.name}
    if not names:
        known = one_line(", ".join(tool.name for tool in tools), 400) or "none"
        asked = choice if isinstance(choice, str) else one_line(choice.function.name)
        raise ApiError(
            f"tool_choice is {asked!r}, but the tools are: {known}.",
            "Name a tool of the request.",
            code="invalid_value",
            param="tool_choice",
        )
    return tools, names, True


def _answer_grammar(body: ChatBody) -> str | None:
    schema = _schema(body)
    if schema is None:
        return None
    try:
        return schema_grammar(json.dumps(schema))
    except InputError as error:
        raise ApiError(
            f"response_format: {error.problem}",
            error.fix,
            code="invalid_value",
            param="response_format",
        ) from None


def _schema(body: ChatBody) -> dict[str, Any] | None:
    form = body.response_format
    if form is None or form.type == "text":
        return None
    if form.type == "json_object":
        return {"type": "object"}
    if form.json_schema is None:
        raise ApiError(
            "response_format.json_schema is missing.",
            "Give it with a name and a schema.",
            code="invalid_value",
            param="response_format.json_schema",
        )
    return form.json_schema.schema_
