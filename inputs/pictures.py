"""Pictures among a run's inputs: how a text holds one, and what reading it takes.

An input is a text. One that is a picture is a data URI and nothing else; a PDF's page without text
is one, below the line that says which page it is. This module alone writes and reads that form.
Pure, except `read_picture` and what calls it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Any, Literal

from ..errors import InputError
from ..host.bounded import BOUNDED_PICTURES, BoundError, ProcessBounds, answer_within
from ..text import size, tokens_of

__all__ = [
    "MAX_PICTURES",
    "MAX_PICTURES_BYTES",
    "MAX_PIXELS",
    "MAX_SIDE",
    "MediaType",
    "Picture",
    "bytes_of",
    "has_pictures",
    "is_data_uri",
    "is_picture",
    "made_picture",
    "parts_of",
    "picture_of",
    "picture_text",
    "pictures_in",
    "read_data_uri",
    "read_picture",
    "reading_tokens",
    "without_pictures",
]


MAX_SIDE = 1568
"""Pixels of the longer side that a picture is scaled down to: Anthropic, OpenAI and Google scale
down what is much larger themselves, and Anthropic takes no side above 2,000 pixels in a request
with more than 20 pictures."""
MAX_PIXELS = 64 << 20
"""Pixels of a picture that is read: more than any camera of a telephone takes."""
MAX_PICTURES_BYTES = 48 << 20
"""Bytes of all pictures of a run, as data URIs: with its texts, what a file of a run may have."""
MAX_PICTURES = 100
"""Pictures that a step may read: Anthropic takes no more in a request."""
_MAX_BYTES = 2 << 20
"""Bytes of a picture that is taken as it is given."""

MediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
_KINDS = MappingProxyType(
    {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
)
_URI = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")
_PAGES = re.compile(
    rf"^(?P<page>\[page [0-9]+\]\n)(?P<uri>{_URI.pattern})$", re.MULTILINE | re.ASCII
)
_BEGINS = "data:image/"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that models are shown, its sides in pixels; the first frame of one that moves."""

    media_type: MediaType
    width: int
    height: int
    data: bytes

    @property
    def tokens(self) -> int:
        """The tokens that it takes, estimated: the larger one of what two providers count.

        Anthropic counts a token for each 750 pixels (platform.claude.com, "Vision"); OpenAI's
        models with tiles count 85, and 170 for each square of 512 pixels that is begun, of a
        picture whose shorter side is scaled to at most 768 pixels (platform.openai.com, "Images
        and vision").
        """
        scale = min(1.0, 768 / min(self.width, self.height))
        tiles = ceil(self.width * scale / 512) * ceil(self.height * scale / 512)
        return max(ceil(self.width * self.height / 750), 85 + 170 * tiles)

    @property
    def label(self) -> str:
        """What stands in its place in a text, in brackets."""
        sides = f"{self.width:,} × {self.height:,} pixels"
        return f"[picture: {_KINDS[self.media_type]}, {sides}, {size(len(self.data))}]"


def picture_of(text: str) -> Picture | None:
    """Return the picture that a text is; None for any other text."""
    return _decoded(text) if text.startswith(_BEGINS) else None


# A step's pictures are looked at several times, for their tokens and for what is sent.
@lru_cache(maxsize=16)
def _decoded(text: str) -> Picture | None:
    if (found := _URI.fullmatch(text)) is None:
        return None
    try:
        data = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        return None
    return made_picture(data)


def made_picture(data: bytes) -> Picture | None:
    """Return a picture of the kind and the sides that its first bytes say; None if they don't."""
    for media_type, sides in _SIDES.items():
        try:
            found = sides(data)
        except IndexError:
            return None
        if found is not None and min(found) > 0:
            return Picture(media_type, *found, data)
    return None


def picture_text(picture: Picture) -> str:
    """Return the text that a picture is."""
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode('ascii')}"


def parts_of(text: str) -> list[str | Picture]:
    """Divide a text into its pictures and what stands between them: joined it would be the text."""
    if _BEGINS not in text:
        return [text]
    if (whole := picture_of(text)) is not None:
        return [whole]
    parts: list[str | Picture] = []
    start = 0
    for found in _PAGES.finditer(text):
        if (picture := picture_of(found["uri"])) is not None:
            parts += [text[start : found.start("uri")], picture]
            start = found.end()
    return [*parts, text[start:]] if start < len(text) or not parts else parts


def pictures_in(text: str) -> list[Picture]:
    """Return the pictures that a text has."""
    return [part for part in parts_of(text) if isinstance(part, Picture)]


def has_pictures(text: str) -> bool:
    """Say whether a text is a picture or has some."""
    return _BEGINS in text and bool(pictures_in(text))


def without_pictures(
    text: str, label_of: Callable[[Picture], str] = lambda picture: picture.label
) -> str:
    """Return a text with a label in place of each picture."""
    if _BEGINS not in text:
        return text
    return "".join(part if isinstance(part, str) else label_of(part) for part in parts_of(text))


def reading_tokens(text: str) -> int:
    """Estimate the tokens that an input takes, its pictures among it."""
    parts = parts_of(text)
    words = "".join(part for part in parts if isinstance(part, str))
    return tokens_of(words) + sum(part.tokens for part in parts if isinstance(part, Picture))


def bytes_of(text: str) -> tuple[int, int]:
    """Return how many bytes an input has of text, and how many of pictures."""
    count = len(text.encode(errors="replace"))
    if not has_pictures(text):
        return count, 0
    words = sum(len(part.encode()) for part in parts_of(text) if isinstance(part, str))
    return words, count - words


def is_picture(beginning: bytes) -> bool:
    """Say by a file's first bytes whether it is a PNG, JPEG, GIF or WebP, whatever it is called."""
    return any(knows(beginning) for knows in _BEGINNINGS.values())


def is_data_uri(text: str) -> bool:
    """Say whether a text is given as a picture, be it a readable one or not."""
    return text.startswith(_BEGINS) and ";base64," in text[:100] and "\n" not in text.strip()


_BOUNDS = ProcessBounds(30.0, answer_bytes=16 << 20)
_FIX = "Open it in a viewer, and save it as PNG or JPEG."


def read_picture(
    data: bytes,
    name: str,
    bounds: ProcessBounds = _BOUNDS,
    *,
    side: int = MAX_SIDE,
    most_bytes: int = 0,
) -> Picture:
    """Return a picture as models are shown it: upright, on white, of at most `MAX_SIDE` pixels.

    Another process reads it, which may take so long and so much. Nothing but its pixels is kept.

    Args:
        data: The file.
        name: What to call it in errors, with its noun.
        bounds: What reading it may take.
        side: Pixels of its longer side, at most.
        most_bytes: What it may have: it is made smaller until it fits. 0 is no bound.

    Raises:
        InputError: It is damaged, has too many pixels, or takes more than it may.
    """
    known = made_picture(data)
    if known is not None and known.width * known.height > MAX_PIXELS:
        raise _too_large(name, f"{known.width:,} × {known.height:,}")
    work = f"picture {MAX_PIXELS} {side} {most_bytes}"
    try:
        found: dict[str, Any] = json.loads(answer_within(BOUNDED_PICTURES, data, bounds, work))
    except BoundError as error:
        raise InputError(f"The {name} can't be read as a picture: {error}.", _FIX) from None
    if "pixels" in found:
        raise _too_large(name, "too many")
    if "picture" not in found:
        why = found.get("damaged", "it is damaged")
        raise InputError(f"The {name} can't be read as a picture: {why.rstrip('.')}.", _FIX)
    return _of_answer(found["picture"])


def _too_large(name: str, pixels: str) -> InputError:
    most = f"{MAX_PIXELS / 1e6:,.0f} million"
    return InputError(
        f"The {name} has {pixels} pixels, and a picture may have {most}.", "Make it smaller."
    )


def _of_answer(found: Any) -> Picture:
    media_type, width, height, data = found
    return Picture(media_type, width, height, base64.b64decode(data))


def picture_text_of(found: Any) -> str:
    """Return the text of a picture as the other process gives it."""
    return picture_text(_of_answer(found))


def read_data_uri(text: str, name: str) -> str:
    """Return a text that is given as a picture, as models are shown it.

    Raises:
        InputError: It isn't one that can be read.
    """
    head, _, encoded = text.strip().partition(",")
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(
            f"The {name} begins as a picture, {head[:60]!r}, and the rest is not base 64.",
            "Give the picture's file, or its data as base 64.",
        ) from None
    known = made_picture(data)
    # What is small enough as it is was read before, or is decoded by nobody but the model.
    is_small = known is not None and max(known.width, known.height) <= MAX_SIDE
    if is_small and len(data) <= _MAX_BYTES and picture_of(text) is not None:
        return text
    return picture_text(read_picture(data, name))


def _png_sides(data: bytes) -> tuple[int, int] | None:
    if not _is_png(data) or data[12:16] != b"IHDR":
        return None
    return _big(data[16:20]), _big(data[20:24])


def _gif_sides(data: bytes) -> tuple[int, int] | None:
    return (_little(data[6:8]), _little(data[8:10])) if _is_gif(data) else None


def _webp_sides(data: bytes) -> tuple[int, int] | None:
    if not _is_webp(data):
        return None
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            bits = _little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case _:
            return None


def _jpeg_sides(data: bytes) -> tuple[int, int] | None:
    if not _is_jpeg(data):
        return None
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], _big(data[place + 2 : place + 4])
        # Frames begin with these; the others in between are tables.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[place + 7 : place + 9]), _big(data[place + 5 : place + 7])
        place += 1 if marker == 0xFF else 2 + max(2, length)
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _is_png(data: bytes) -> bool:
    return data.startswith(b"\x89PNG\r\n\x1a\n")


def _is_jpeg(data: bytes) -> bool:
    return data.startswith(b"\xff\xd8\xff")


def _is_gif(data: bytes) -> bool:
    return data.startswith((b"GIF87a", b"GIF89a"))


def _is_webp(data: bytes) -> bool:
    return data.startswith(b"RIFF") and data[8:12] == b"WEBP"


_BEGINNINGS: dict[MediaType, Callable[[bytes], bool]] = {
    "image/png": _is_png,
    "image/jpeg": _is_jpeg,
    "image/gif": _is_gif,
    "image/webp": _is_webp,
}
_SIDES: dict[MediaType, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png_sides,
    "image/jpeg": _jpeg_sides,
    "image/gif": _gif_sides,
    "image/webp": _webp_sides,
}
