"""What a client may send to `/v1/chat/completions`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from .api_errors import ApiError

__all__ = ["ChatBody", "ChatBodyMessage", "read_chat_body"]


class _Body(BaseModel):
    # Clients send fields that only concern OpenAI's own service, such as `store` and `user`.
    model_config = ConfigDict(extra="ignore", strict=False)


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
    content: str | list[_Text] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n\n".join(part.text for part in self.content)
        return self.content or ""


class _Function(_Body):
    name: str = Field(min_length=1)
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


class ChatBody(_Body):
    """The body of a request; a field that is None is as if it weren't there."""

    model: str
    messages: list[ChatBodyMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=0)
    repeat_penalty: float | None = Field(None, ge=1)
    seed: int | None = None
    stop: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    tools: list[_Tool] | None = None
    tool_choice: Literal["auto", "none", "required"] | _NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: _ResponseFormat | None = None
    # What follows would change the answer and can't be had, so only what changes nothing is taken.
    n: Literal[1] | None = None
    logprobs: Literal[False] | None = None
    presence_penalty: Annotated[float | None, Field(ge=0, le=0)] = None
    frequency_penalty: Annotated[float | None, Field(ge=0, le=0)] = None
    logit_bias: Annotated[dict[str, float] | None, Field(max_length=0)] = None


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
            f"{place} is {first['input']!r}, which this server can't do.",
            f"Leave {place} out.",
            code="unsupported_value",
            param=place,
        )
    value = "missing" if first["type"] == "missing" else repr(first["input"])
    raise ApiError(
        f"{place} is {value[:200]}: {first['msg']}.",
        "See OpenAI's reference of chat completions for what it may be.",
        code="invalid_value",
        param=place,
    )
