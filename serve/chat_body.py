"""What a client may send to `/v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from ..blocks.llama.tools import MOST_TOOLS
from .api_errors import ApiError

__all__ = ["ChatBody", "ChatBodyMessage", "read_chat_body"]


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
    # What follows would change the answer and can't be had, so only what changes nothing is taken.
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
    raise ApiError(
        f"{place} is {_shown(first)}: {first['msg']}.",
        "See OpenAI's reference of chat completions for what it may be.",
        code="invalid_value",
        param=place,
    )
