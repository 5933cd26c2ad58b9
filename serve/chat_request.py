"""From a client's chat request to the engine's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ..data_types import specified
from ..errors import InputError
from ..models.llama.api import GenerateRequest, LocalTool, LocalToolCall, Message
from ..models.llama.chat import ordered_turns
from ..models.llama.schema_grammar import schema_grammar
from ..models.llama.tool_calls import Style
from ..models.llama.turn_grammar import MOST_TOOLS, turn_grammar
from ..text import one_line
from .connection import ApiError

__all__ = ["ChatBody", "ChatBodyMessage", "ChatRequest", "chat_request", "read_chat_body"]


_MOST_MESSAGES = 10_000
"""Of a conversation, and parts of one: each takes some tokens, so that no context has more."""
_MOST_CALLS = 1_000
_MOST_STOPS = 64
"""OpenAI takes 4, other servers 16 and more; each is looked for at each token."""
_LONGEST_NAME = 256
_LONGEST_STOP = 1_000
_MOST = 2**31 - 1
"""The highest number that llama.cpp takes."""


class _Body(BaseModel):
    # Clients send fields that only concern OpenAI's own service, such as `store` and `user`.
    model_config = ConfigDict(extra="ignore", strict=False, allow_inf_nan=False)


class _Text(_Body):
    type: Literal["text"]
    text: str


class _CalledFunction(_Body):
    name: str
    arguments: str = "{}"


class _Call(_Body):
    id: str = ""
    type: Literal["function"] = "function"
    function: _CalledFunction


class ChatBodyMessage(_Body):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | Annotated[list[_Text], Field(max_length=_MOST_MESSAGES)] | None = None
    tool_calls: list[_Call] | None = Field(None, max_length=_MOST_CALLS)
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n\n".join(part.text for part in self.content)
        return self.content or ""


class _Function(_Body):
    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(_Body):
    type: Literal["function"]
    function: _Function


class _NamedFunction(_Body):
    name: str


class _NamedTool(_Body):
    type: Literal["function"]
    function: _NamedFunction


class _Schema(_Body):
    name: str = ""
    # `schema` is a method of pydantic's models.
    schema_: dict[str, Any] = Field(alias="schema")


class _ResponseFormat(_Body):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None


class _StreamOptions(_Body):
    include_usage: bool = False


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Stop = Annotated[str, Field(max_length=_LONGEST_STOP)]


class ChatBody(_Body):
    """The body of a request; a field that is None is as if it weren't there."""

    model: str
    messages: list[ChatBodyMessage] = Field(min_length=1, max_length=_MOST_MESSAGES)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1, le=_MOST)
    max_completion_tokens: int | None = Field(None, ge=1, le=_MOST)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=0, le=_MOST)
    repeat_penalty: float | None = Field(None, ge=1)
    seed: int | None = None
    stop: Annotated[list[_Stop] | None, BeforeValidator(_listed)] = Field(
        None, max_length=_MOST_STOPS
    )
    tools: list[_Tool] | None = Field(None, max_length=MOST_TOOLS)
    tool_choice: Literal["auto", "none", "required"] | _NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: _ResponseFormat | None = None
    # What follows would change the answer and is not available, so only what changes nothing is
    # taken.
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    presence_penalty: Annotated[float | None, Field(ge=0, le=0)] = None
    frequency_penalty: Annotated[float | None, Field(ge=0, le=0)] = None
    logit_bias: Annotated[dict[str, float] | None, Field(max_length=0)] = None


def _shown(error: ErrorDetails) -> str:
    """What a field was, in some words: it may be of any size."""
    value = error["input"]
    if error["type"] == "missing":
        return "missing"
    if error["type"] == "too_long":
        return f"a list of {len(value):,}"
    return repr(value[:200] if isinstance(value, str) else value)[:200]


_UNSUPPORTED = {"n", "logprobs", "presence_penalty", "frequency_penalty", "logit_bias"}


def read_chat_body(data: bytes) -> ChatBody:
    """Read a body.

    Raises:
        ApiError: It isn't what it may be; says which field, and its value.
    """
    try:
        return ChatBody.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or None
    if place is None:
        raise ApiError(f"The body is not a JSON object: {first['msg']}.", "Send a JSON object.")
    if place in _UNSUPPORTED:
        raise ApiError(
            f"{place} is {_shown(first)}, which this server can't do.",
            f"Leave {place} out.",
            code="unsupported_value",
            param=place,
        )
    raise _invalid(
        place,
        f"{place} is {_shown(first)}: {first['msg']}.",
        "See OpenAI's reference of chat completions for what it may be.",
    )


def _invalid(place: str, problem: str, fix: str) -> ApiError:
    return ApiError(problem, fix, code="invalid_value", param=place)


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
    sampling: dict[str, Any] = specified(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        repeat_penalty=body.repeat_penalty,
        seed=body.seed,
    )
    generate = GenerateRequest(
        messages=ordered_turns(_turns(body.messages)),
        max_tokens=asked or max_tokens,
        may_shorten=asked is None,
        stop=tuple(body.stop or ()),
        tools=tools,
        grammar=turn.grammar,
        leaves_text=turn.leaves_text,
        **sampling,
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
        problem = f"tool_choice is {asked!r}, but the tools are: {known}."
        raise _invalid("tool_choice", problem, "Name a tool of the request.")
    return tools, names, True


def _answer_grammar(body: ChatBody) -> str | None:
    schema = _schema(body)
    if schema is None:
        return None
    try:
        return schema_grammar(json.dumps(schema))
    except InputError as error:
        problem = f"response_format: {error.problem}"
        raise _invalid("response_format", problem, error.fix) from None


def _schema(body: ChatBody) -> dict[str, Any] | None:
    form = body.response_format
    if form is None or form.type == "text":
        return None
    if form.type == "json_object":
        return {"type": "object"}
    if form.json_schema is None:
        place = "response_format.json_schema"
        raise _invalid(place, f"{place} is missing.", "Give it with a name and a schema.")
    return form.json_schema.schema_
