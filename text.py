"""Texts and figures as people are shown them, on a terminal or a page. Pure."""

from __future__ import annotations

import re

from .errors import InputError

__all__ = [
    "BYTES_PER_TOKEN",
    "clean",
    "dollars",
    "duration",
    "encoded",
    "escaped",
    "one_line",
    "plural",
    "tokens_of",
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


def plural(count: int, noun: str) -> str:
    """Count things: 1 step, 2 steps."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def tokens_of(text: str) -> int:
    """Estimate the tokens that a text takes."""
    return -(-len(text.encode(errors="replace")) // int(BYTES_PER_TOKEN))
