"""Texts and figures as people are shown them, on a terminal or a page. Pure."""

from __future__ import annotations

import re
from typing import Any, cast

from .errors import InputError

__all__ = [
    "BYTES_PER_TOKEN",
    "clean",
    "count_in",
    "dollars",
    "duration",
    "encoded",
    "escaped",
    "one_line",
    "plural",
    "tokens_of",
    "whole_characters",
    "without_surrogates",
]

BYTES_PER_TOKEN = 3.0
"""Bytes of a text a token covers, on the low side so that estimates err upwards in any script."""

# What sets the direction of writing: text behind it may be shown in another order than it has.
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Models and plan files must not be able to steer the terminal: C0 but tab and newline, DEL, C1.
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDIRECTIONAL}]")
# JSON escapes C0 itself, and half a surrogate can't be written as UTF-8.
_RAW_IN_JSON = re.compile(rf"[\x7f-\x9f{_BIDIRECTIONAL}\ud800-\udfff]")


def clean(text: str) -> str:
    """Take the control characters out of a text that someone else wrote."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def escaped(document: str) -> str:
    """Write the control characters of a JSON document as JSON's escapes; it stays the same data."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def encoded(text: str, noun: str) -> bytes:
    """Write a text as UTF-8.

    Args:
        text: Any text.
        noun: What it is, for the error.

    Raises:
        InputError: It has half of a surrogate pair, which is no character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"The {noun} has {text[error.start]!r} at character {error.start:,}, half of a "
            "surrogate pair.",
            "Decode the text with errors='replace', or take that character out.",
        ) from None


def whole_characters(text: str) -> str:
    """Return a text in which half of a surrogate pair is U+FFFD, and two halves are one character.

    Half a pair is no character: what has it can't be written as UTF-8, sent or stored.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def without_surrogates(value: Any) -> Any:
    """Return data of JSON whose texts, and names of fields, have whole characters only.

    What has nothing else is returned itself.
    """
    if isinstance(value, str):
        return whole_characters(value)
    if not isinstance(value, dict | list):
        return value
    # Without recursion: what a stranger wrote may be nested as deeply as a reader of JSON takes.
    made: Any = type(cast("Any", value))()
    is_whole = True
    left: list[tuple[Any, Any]] = [(value, made)]
    while left:
        old, new = left.pop()
        pairs: Any = cast("Any", old).items() if isinstance(old, dict) else enumerate(old)
        for name, item in pairs:
            if isinstance(item, dict | list):
                inner: Any = type(cast("Any", item))()
                left.append((cast("Any", item), inner))
            else:
                inner = whole_characters(item) if isinstance(item, str) else item
                is_whole = is_whole and inner is item
            if isinstance(new, dict):
                whole_name = whole_characters(name) if isinstance(name, str) else name
                is_whole = is_whole and whole_name is name
                new[whole_name] = inner
            else:
                new.append(inner)
    return cast("Any", value) if is_whole else made


def one_line(text: str, limit: int = 100) -> str:
    """Write a text in one line of at most `limit` characters."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def duration(seconds: float) -> str:
    """Write seconds as people read them: 3.2 s, 2:05, 1:02:05."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"


def dollars(usd: float) -> str:
    """Write an amount of US dollars: $0.0123."""
    return f"${usd:.4f}"


def count_in(text: str) -> int | None:
    """Return the number that a text is in decimal digits; None if it is none.

    Digits of other scripts are none, nor are more than 18 of them: nothing is counted so far, and
    Python refuses to read thousands.
    """
    is_count = text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if is_count else None


def plural(count: int, noun: str) -> str:
    """Count things: 1 step, 2 steps."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def tokens_of(text: str) -> int:
    """Estimate the tokens that a text takes."""
    return -(-len(text.encode(errors="replace")) // int(BYTES_PER_TOKEN))
