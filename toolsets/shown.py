"""Calls of tools as people and models are shown them: texts cut and without secrets, pictures.

A picture is stored once, and shown to models that take it.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    FileUrl,
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from pydantic_core import to_json

from ..errors import RunDamagedError, StorageError
from ..host.secrets import mask
from ..store.attempt import ToolCall
from ..store.protocol import PICTURE, RunStore, picture_stem
from ..text import whole_characters, without_surrogates
from .journal import CallKey, Committed, JournalState, call_keys

__all__ = [
    "MOST_BYTES",
    "ForModel",
    "PictureFiles",
    "arguments_of",
    "bare",
    "cut",
    "earlier_calls",
    "ended_call",
    "picture_of",
    "pictures_in",
    "restored",
    "result_text",
    "stored_picture",
    "text_of",
    "wanted_call",
]

MOST_BYTES = 3_750_000
"""Of a picture: with more, providers refuse the whole conversation."""
_MOST_PICTURES = 8
"""Of a call."""
_MOST_SIDE = 8000
_ENDS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def picture_of(content: BinaryContent) -> BinaryImage | None:
    """Return what a model can be shown: of a kind and a size that all providers take; or None.

    The kind is that of the data: a wrong one has the provider refuse the whole conversation.
    """
    kind = _kind(content.data)
    if kind is None or len(content.data) > MOST_BYTES or _is_wide(content.data, kind):
        return None
    return stored_picture(BinaryContent(content.data, media_type=kind))


def stored_picture(content: BinaryContent) -> BinaryImage:
    """Return a picture under the name that the run's folder has it by; its kind is known."""
    kind = content.media_type
    name = f"{picture_stem(content.data)}.{_ENDS[kind]}"
    return BinaryImage(data=content.data, media_type=kind, identifier=name)


def pictures_in(value: object) -> list[BinaryImage]:
    """Return the pictures of a tool's result that a model can be shown, in their order."""
    match value:
        case BinaryContent():
            picture = picture_of(value)
            return [] if picture is None else [picture]
        case ToolReturn():
            return [*pictures_in(value.return_value), *pictures_in(value.content)]
        case list() | tuple():
            return [each for part in cast("Sequence[Any]", value) for each in pictures_in(part)]
        case _:
            return []


def text_of(content: object) -> str:
    """Return what a tool's result says, without its pictures."""
    if isinstance(content, list):
        return "\n".join(part for part in cast("list[Any]", content) if isinstance(part, str))
    return content if isinstance(content, str) else str(content)


def bare(value: Any) -> Any:
    """Return messages as JSON data without the data of pictures, whose names tell them.

    What a model wrote stays as it is: the arguments of a call may look like a picture.
    """
    match value:
        case {"kind": "response"}:
            return value
        case {"kind": "binary", "identifier": str(name), "data": str()} if name.startswith(PICTURE):
            return {**cast("dict[str, Any]", value), "data": ""}
        case dict():
            return {key: bare(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [bare(each) for each in cast("list[Any]", value)]
        case _:
            return value


def restored(value: Any, read: Callable[[str], bytes | None]) -> Any:
    """Return messages with the data of pictures again, or a text where it can't be read."""
    match value:
        case {"kind": "response"}:
            return value
        case {"kind": "binary", "identifier": str(name), "data": ""} if name.startswith(PICTURE):
            if (data := read(name)) is None:
                return f"[{name} isn't shown]"
            encoded = base64.b64encode(data).decode()
            return {**cast("dict[str, Any]", value), "data": encoded}
        case dict():
            held = cast("dict[str, Any]", value)
            return {key: restored(each, read) for key, each in held.items()}
        case list():
            return [restored(each, read) for each in cast("list[Any]", value)]
        case _:
            return value


def _kind(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _is_wide(data: bytes, kind: str) -> bool:
    """Say whether a side has more pixels than providers take, where the beginning says so."""
    if kind == "image/png":
        sides = (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big"))
    elif kind == "image/gif":
        sides = (int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))
    else:
        return False
    return max(sides) > _MOST_SIDE


ForModel = str | list[str | BinaryContent]
"""What a model gets of a call: a text, or a text and pictures."""
_logger = logging.getLogger("prefect_swarm.tools")
_NOT_SHOWN = "[You read text alone, so that pictures aren't shown to you.]"


class PictureFiles:
    """Keeps pictures, and shows them."""

    def __init__(self, run: RunStore, *, shown: bool = True) -> None:
        """Take the run's folder, and whether a model is shown them."""
        self._run, self._is_shown = run, shown

    def keep(self, value: object) -> tuple[str, ...]:
        """Write the pictures of a tool's result, and return their names."""
        names: list[str] = []
        for picture in pictures_in(value)[:_MOST_PICTURES]:
            try:
                self._run.write_picture(picture.identifier, picture.data)
            except StorageError as error:
                _logger.warning("A picture is not kept: %s", error)
            else:
                names.append(picture.identifier)
        return tuple(names)

    def read(self, name: str) -> bytes | None:
        """Return what a picture holds; None if it is gone, or nobody is shown it."""
        if not self._is_shown:
            return None
        with suppress(RunDamagedError):
            return self._run.picture(name)
        return None

    def result(self, text: str, names: tuple[str, ...]) -> ForModel:
        """Return what a model gets of a call with that text and these pictures."""
        if not names:
            return text
        if not self._is_shown:
            return f"{text}\n{_NOT_SHOWN}"
        data = [found for name in names if (found := self.read(name)) is not None]
        pictures = [picture_of(BinaryContent(each, media_type="image/png")) for each in data]
        return [text, *(each for each in pictures if each is not None)]


def result_text(value: object) -> str:
    """Return a tool's result as text: a text as it is, data as JSON, what is neither as a note."""
    match value:
        case None:
            return "Done; there is no result."
        case str():
            return whole_characters(value)
        case ToolReturn():
            parts = [value.return_value, *_parts(value.content)]
            return "\n".join(result_text(part) for part in parts if part is not None)
        case BinaryContent():
            size = f"{len(value.data):,} bytes"
            if (picture := picture_of(value)) is not None:
                return f"[{picture.identifier}: {picture.media_type}, {size}]"
            return f"[{value.media_type}, {size}, not shown]"
        case FileUrl():
            return value.url
        case _:
            parts = _parts(value)
            if any(isinstance(part, _NOT_DATA) for part in parts):
                return "\n".join(result_text(part) for part in parts)
            value = without_surrogates(value)
            return to_json(value, fallback=repr, inf_nan_mode="strings").decode()


def cut(text: str, characters: int) -> str:
    """Return a text that has at most about that many characters, and says what it lacks.

    The beginning stays, and a fifth of the room is the end's: results of programs end with what
    went wrong.
    """
    if len(text) <= characters:
        return text
    return _cut_ends(text, "", 0, characters)


def _cut_ends(beginning: str, ending: str, between: int, characters: int) -> str:
    """Return what `cut` makes of a text of which the ends alone are at hand.

    Args:
        beginning: Where it begins.
        ending: Where it ends.
        between: How many characters lie between the two.
        characters: How many are shown.
    """
    text = beginning + ending
    if len(text) > characters:
        end = characters // 5
        between += len(text) - characters
        beginning, ending = text[: characters - end], text[len(text) - end :]
    note = f"\n[… {between:,} characters are left out here …]\n"
    return f"{beginning}{note}{ending}"


_NOT_DATA = (BinaryContent, FileUrl)


def _parts(value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | Mapping):
        return cast("Sequence[Any]", value)
    return (value,)


_SHOWN = 400
"""Characters of arguments and of a result that people are shown."""
_LOOKED_AT = 12_000
"""Characters at each end that secrets are looked for in: a key that is cut in two is longer."""


def arguments_of(part: ToolCallPart) -> str:
    """Return a call's arguments as JSON."""
    if isinstance(part.args, str):
        return part.args
    arguments: dict[str, Any] = part.args or {}
    return json.dumps(arguments, ensure_ascii=False, default=str)


def wanted_call(
    key: CallKey, toolset: str, part: ToolCallPart, secrets: Collection[str]
) -> ToolCall:
    """Return a call that a model wants."""
    arguments = _shown(arguments_of(part), secrets)
    return ToolCall(ordinal=key.ordinal, tool=part.tool_name, toolset=toolset, arguments=arguments)


def ended_call(
    call: ToolCall, committed: Committed, outcome: str, secrets: Collection[str]
) -> ToolCall:
    """Return a call with what came of it."""
    return call.model_copy(
        update={
            "outcome": outcome,
            "result": _shown(committed.result, secrets),
            "characters": committed.characters,
            "seconds": committed.seconds,
            "pictures": committed.pictures,
        }
    )


def earlier_calls(
    state: JournalState, messages: Sequence[ModelMessage], secrets: Collection[str]
) -> dict[int, ToolCall]:
    """Return what an earlier process came to, by the calls' numbers: what its model has read.

    Args:
        messages: The conversation, whose calls and results have ids of our own.
    """
    read = {
        part.tool_call_id: part.model_response_str()
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    found: dict[int, ToolCall] = {}
    for answer, keys in zip(answers, call_keys(messages), strict=True):
        for part, key in zip(answer.tool_calls, keys, strict=True):
            if (text := read.get(part.tool_call_id)) is not None:
                call = wanted_call(key, state.toolsets.get(key, ""), part, secrets)
                found[key.ordinal] = _read_before(call, state.committed, key, text, secrets)
    return found


def _read_before(
    call: ToolCall,
    committed: Mapping[CallKey, Committed],
    key: CallKey,
    text: str,
    secrets: Collection[str],
) -> ToolCall:
    if (ended := committed.get(key)) is not None:
        return ended_call(call, ended, "stored", secrets)
    # It was not made, and the model read why.
    return call.model_copy(update={"outcome": "refused", "result": _shown(text, secrets)})


def _shown(text: str, secrets: Collection[str]) -> str:
    """Mask and cut a text, and read no more of it than what is shown needs."""
    left_out = len(text) - 2 * _LOOKED_AT
    if left_out <= 0:
        return cut(mask(text, secrets), _SHOWN)
    # Each end is masked by itself, so that what lies between them hides nothing.
    return _cut_ends(
        mask(text[:_LOOKED_AT], secrets), mask(text[-_LOOKED_AT:], secrets), left_out, _SHOWN
    )
