"""Pictures that tools give: stored once, and shown to models that take them."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, cast

from pydantic_ai.messages import BinaryContent, BinaryImage, ToolReturn

from ..errors import RunDamagedError, StorageError
from ..store.protocol import RunStore

__all__ = [
    "MOST_BYTES",
    "MOST_PICTURES",
    "ForModel",
    "PictureFiles",
    "bare",
    "picture_of",
    "pictures_in",
    "restored",
    "text_of",
]


MOST_BYTES = 3_750_000
"""Of a picture: with more, providers refuse the whole conversation."""
MOST_PICTURES = 8
"""Of a call."""
_MOST_SIDE = 8000
_NAME = "picture-"
_ENDS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


def picture_of(content: BinaryContent) -> BinaryImage | None:
    """Return what a model can be shown: of a kind and a size that all providers take; or None.

    The kind is that of the data: a wrong one has the provider refuse the whole conversation.
    """
    kind = _kind(content.data)
    if kind is None or len(content.data) > MOST_BYTES or _is_wide(content.data, kind):
        return None
    name = f"{_NAME}{sha256(content.data).hexdigest()[:16]}.{_ENDS[kind]}"
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
        case {"kind": "binary", "identifier": str(name), "data": str()} if name.startswith(_NAME):
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
        case {"kind": "binary", "identifier": str(name), "data": ""} if name.startswith(_NAME):
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
        for picture in pictures_in(value)[:MOST_PICTURES]:
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
