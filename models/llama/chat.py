"""A conversation as the text that a model file's chat template makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NoReturn, cast

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from ...errors import InputError, ModelError
from .api import LocalTool, LocalToolCall, Message
from .tool_calls import knows_tools, template_tool, template_turn, without_tool_turns

__all__ = ["SEAM", "ChatTemplate", "ordered_turns", "to_chat"]


SEAM = "\ufdd0"
"""Where a prompt is cut before it becomes tokens, so that a text that looks like a special token is
none. Unicode has no character here, and texts lose theirs."""


class ChatTemplate:
    """A compiled chat template; `render` gives the prompt up to where the assistant answers."""

    def __init__(self, source: str, *, bos: str, eos: str, special: Collection[str] = ()) -> None:
        """Take a template.

        Args:
            source: In Jinja's language.
            bos: The text of the token that begins a prompt.
            eos: The text of the token that ends a turn.
            special: The texts of all tokens that mean something to the model, such as those.
        """
        self._knows_tools = knows_tools(source)
        # The template comes with a downloaded file, so it is not trusted.
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _tojson
        names = {
            "raise_exception": _refuse,
            "strftime_now": _strftime_now,
            "bos_token": bos,
            "eos_token": eos,
        }
        try:
            self._template = environment.from_string(source, globals=names)
        except TemplateError as error:
            raise ModelError(
                f"The model's chat template can't be read: {error}.", "Use another model file."
            ) from None
        texts = sorted((text for text in special if len(text) > 1), key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, texts))) if texts else None

    def render(self, messages: Sequence[Message], tools: Sequence[LocalTool] = ()) -> str:
        """Render messages; where the template knows no system role, its text joins the first turn.

        A `SEAM` is in each text of theirs that looks like a special token: only the template's own
        open a turn, or end one. Where it knows no tools, they are described in the system turn, and
        calls and their results are turns of plain text.

        Raises:
            ModelError: The template refuses the conversation.
        """
        if not self._knows_tools:
            return self._joined(without_tool_turns(messages, tools), ())
        try:
            return self._joined(messages, tools)
        except ModelError:
            if not any(message.calls or message.role == "tool" for message in messages):
                raise
        # Some take tools but are strict about the turns that go with them, such as the form of ids.
        return self._joined(without_tool_turns(messages, tools), ())

    def plain(self, text: str) -> str:
        """Put a `SEAM` into what looks like a special token in a text of a conversation."""
        if self._special is None:
            return text
        text, start, pieces = text.replace(SEAM, ""), 0, list[str]()
        while found := self._special.search(text, start):
            pieces.append(text[start : found.start() + 1])
            start = found.start() + 1
        return SEAM.join([*pieces, text[start:]])

    def _joined(self, messages: Sequence[Message], tools: Sequence[LocalTool]) -> str:
        try:
            return self._render(messages, tools)
        except TemplateError as error:
            if len(messages) < 2 or messages[0].role != "system":
                raise ModelError(
                    f"The model's chat template refuses this conversation: {error}.",
                    "Let user and assistant take turns, and end with the user.",
                ) from None
        system, first, *rest = messages
        joined = replace(first, content=f"{system.content}\n\n{first.content}")
        return self._joined((joined, *rest), tools)

    def _render(self, messages: Sequence[Message], tools: Sequence[LocalTool]) -> str:
        turns = [template_turn(message) for message in messages]
        # Templates ask whether there are tools, some by `is not none`.
        offered = [template_tool(tool) for tool in tools] or None
        return self._template.render(
            messages=self._plain(turns), tools=self._plain(offered), add_generation_prompt=True
        )

    def _plain(self, value: Any) -> Any:
        """Do the same to all texts in data, names of fields among them."""
        match value:
            case str():
                return self.plain(value)
            case dict():
                pairs = cast("dict[Any, Any]", value).items()
                return {self._plain(name): self._plain(each) for name, each in pairs}
            case list() | tuple():
                return [self._plain(each) for each in cast("Sequence[Any]", value)]
            case _:
                return value


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().astimezone().strftime(form)


def _tojson(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def to_chat(messages: Sequence[ModelMessage], instructions: str = "") -> tuple[Message, ...]:
    """Turn a history into system, user, assistant and tool turns.

    Raises:
        InputError: It holds something that is not text, such as an image.
    """
    turns = [Message("system", instructions)] if instructions else []
    for message in messages:
        if isinstance(message, ModelRequest):
            turns += [_request_turn(part) for part in message.parts]
        else:
            turns.append(_response_turn(message))
    return ordered_turns(turns)


def ordered_turns(turns: Iterable[Message]) -> tuple[Message, ...]:
    """Put the system's turns first, and merge neighbours of one role that hold text alone."""
    # Chat templates take a system turn only in the first place.
    ordered = sorted(turns, key=lambda turn: turn.role != "system")
    return tuple(_merge_neighbours(ordered))


def _response_turn(message: ModelResponse) -> Message:
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    calls = tuple(
        LocalToolCall(part.tool_name, part.args_as_json_str(), part.tool_call_id)
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )
    return Message("assistant", "".join(texts), calls)


def _request_turn(part: ModelRequestPart) -> Message:
    match part:
        case SystemPromptPart():
            return Message("system", part.content)
        case UserPromptPart(content=str(content)):
            return Message("user", content)
        case UserPromptPart(content=content):
            return Message("user", _texts(content))
        case ToolReturnPart():
            text = part.model_response_str()
            return Message("tool", text, call_id=part.tool_call_id, name=part.tool_name)
        case RetryPromptPart(tool_name=str(name)):  # pyright: ignore[reportDeprecated]
            return Message("tool", part.model_response(), call_id=part.tool_call_id, name=name)
        case RetryPromptPart() | RetryFeedbackPart():  # pyright: ignore[reportDeprecated]
            return Message("user", part.model_response())
        case _:
            raise InputError(
                f"A local llama.cpp model can't read a {type(part).__name__}.",
                "Give that agent another model.",
            )


def _texts(content: Iterable[UserContent]) -> str:
    texts: list[str] = []
    for item in content:
        if not isinstance(item, str | TextContent):
            raise InputError(
                f"A local llama.cpp model reads text only, not {type(item).__name__}.",
                "Give the step text, or another model.",
            )
        texts.append(item if isinstance(item, str) else item.content)
    return "\n\n".join(texts)


def _merge_neighbours(turns: Iterable[Message]) -> Iterable[Message]:
    alike: list[Message] = []
    for turn in turns:
        if not turn.content and _plain(turn):
            continue
        if alike and not (alike[0].role == turn.role and _plain(alike[0]) and _plain(turn)):
            yield _as_one(alike)
            alike = []
        alike.append(turn)
    if alike:
        yield _as_one(alike)


def _as_one(turns: Sequence[Message]) -> Message:
    first, *others = turns
    return replace(first, content="\n\n".join(turn.content for turn in turns)) if others else first


def _plain(turn: Message) -> bool:
    return not turn.calls and turn.role != "tool"
