"""Texts and figures as people are shown them, on a terminal or a page. Pure."""

from __future__ import annotations

import re
from typing import Any, cast
from unicodedata import combining, east_asian_width

from .errors import InputError

__all__ = [
    "BYTES_PER_TOKEN",
    "clean",
    "code_span",
    "count_in",
    "dollars",
    "duration",
    "encoded",
    "escaped",
    "fenced",
    "one_line",
    "plain_words",
    "plural",
    "size",
    "tokens_of",
    "visible",
    "whole_characters",
    "width_of",
    "without_surrogates",
]

BYTES_PER_TOKEN = 3.0
"""Bytes of a text a token covers, on the low side so that estimates err upwards in any script."""

# What sets the direction of writing: text behind it may be shown in another order than it has.
_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Models and plan files must not be able to steer the terminal: C0 but tab and newline, DEL, C1.
_CONTROLS = rf"\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDIRECTIONAL}"
_CONTROL = re.compile(f"[{_CONTROLS}]")
# What has no form of its own, so that a text with it looks like another: breaks that are none to
# some readers, zero widths, fillers, selectors of forms, annotations, tags, private characters, and
# halves of characters.
_HIDDEN = (
    rf"{_CONTROLS}\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029"
    r"\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc"
    r"\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
# A mark that stands above many others covers the lines next to it.
_MARKS = r"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
_PILED = rf"(?<={_MARKS * 4}){_MARKS}"
_SPACES = r"[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
# What stands behind so many of them is out of sight.
_FAR = rf"(?<={_SPACES * 32}){_SPACES}"
_EMOJI = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe"
    r"\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Of what is hidden elsewhere: joined emoji, one that is shown in colours, a key, and three flags.
_IN_EMOJI = "|".join(
    [
        rf"(?:(?<={_EMOJI})|(?<={_EMOJI}\ufe0f))\u200d(?={_EMOJI})",
        rf"(?<={_EMOJI})[\ufe0e\ufe0f]",
        r"(?<=[0-9#*])\ufe0f(?=\u20e3)",
        *(
            "(?<=\U0001f3f4)"
            + "".join(chr(0xE0000 + ord(letter)) for letter in flag)
            + "\U000e007f"
            for flag in ("gbeng", "gbsct", "gbwls")
        ),
    ]
)
# The scripts whose letters are joined, or kept apart, by what has no width: from Arabic to Burmese,
# Khmer and Mongolian, those of Indonesia, India's rarer ones, and Arabic's forms.
_JOINING = (
    r"[\u0620-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18aa\u1a20-\u1aad\u1b00-\u1bff"
    r"\ua840-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\U00010a00-\U000118ff]"
)
_HAN = r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_IN_WORDS = (
    rf"(?<={_JOINING})[\u200c\u200d](?={_JOINING})|(?<={_HAN})[\U000e0100-\U000e01ef]"
    r"|(?<=[\u1820-\u18aa])[\u180b-\u180e]"
)
_IN_PROSE = re.compile(f"{_IN_EMOJI}|{_IN_WORDS}|([{_HIDDEN}]|{_PILED})")
_IN_DATA = re.compile(f"{_IN_EMOJI}|([{_HIDDEN}]|{_PILED}|{_FAR})")
_BACKTICKS = re.compile("`+")
# A full stop between letters may be a link.
_PLAIN = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;:?!'’()–—-]|\.(?=[ \d]|$))*")
_LANGUAGE = re.compile(r"[a-z0-9+#-]{1,20}")


def clean(text: str) -> str:
    """Take the control characters out of a text that a program reads; persons see `visible`."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def visible(text: str, *, strict: bool = False) -> str:
    """Return a text as a person may read it: what is hidden or steers is an escape, as `\\u202e`.

    What belongs to emoji stays, and what joins the letters of a script in prose. Used where a text
    is shown; what is stored, hashed or handed to somebody as a file stays as it is.

    Args:
        text: What somebody else wrote.
        strict: Whether it is data that is acted on, such as a call's arguments or a name. There
            letters are joined by nothing hidden, and no row of spaces puts the rest out of sight.
    """
    if text.isascii() and text.isprintable() and not strict:
        return text
    pattern = _IN_DATA if strict else _IN_PROSE
    return pattern.sub(_shown, text.replace("\r\n", "\n"))


def escaped(document: str) -> str:
    """Write what is hidden in a JSON document as JSON's escapes; it stays the same data."""
    return _IN_PROSE.sub(_shown_in_json, document)


def _shown(found: re.Match[str]) -> str:
    if not (char := found[1]):
        return found[0]
    return f"\\u{ord(char):04x}" if char <= "\uffff" else f"\\U{ord(char):08x}"


def _shown_in_json(found: re.Match[str]) -> str:
    if not (char := found[1]):
        return found[0]
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def fenced(text: str, language: str = "", *, columns: int = 0) -> str:
    """Write a block of code for a page of Markdown, which nothing in it can close.

    Args:
        text: All its lines.
        language: What it is written in; a diagram is shown as text, since drawing it runs it.
        columns: Where lines are broken, since a page may not break them; 0 is nowhere.
    """
    text = visible(text).rstrip("\n")
    if columns:
        text = "\n".join(part for line in text.split("\n") for part in _pieces(line, columns))
    fence = "`" * max(3, 1 + _longest_backticks(text))
    known = language if _LANGUAGE.fullmatch(language) and language != "mermaid" else ""
    return f"{fence}{known}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Write words in a line of Markdown such that they mean nothing to it, nor to a terminal."""
    line = " ".join(visible(text, strict=True).split()) or " "
    ticks = "`" * (1 + _longest_backticks(line))
    edge = " " if "`" in (line[0], line[-1]) else ""
    return f"{ticks}{edge}{line}{edge}{ticks}"


def plain_words(text: str) -> str:
    """Write words in a line of Markdown: as they are where that means nothing to it, or as code."""
    line = " ".join(visible(text, strict=True).split())
    return line if _PLAIN.fullmatch(line) else code_span(line)


def _longest_backticks(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def width_of(text: str) -> int:
    """Return the columns that a text takes where each letter of Latin takes one."""
    if text.isascii():
        return len(text)
    widths = _widths_in(text)
    return sum(widths[char] for char in text)


def _widths_in(text: str) -> dict[str, int]:
    return {
        char: 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
        for char in set(text)
    }


def _pieces(line: str, columns: int) -> list[str]:
    """Break a line behind a space where there is one; nothing of it is lost."""
    pieces: list[str] = []
    widths = _widths_in(line)
    start = behind_space = width = 0
    for at, char in enumerate(line):
        if width + widths[char] > columns:
            end = behind_space if behind_space > start else at
            pieces.append(line[start:end])
            start, width = end, width_of(line[end:at])
        width += widths[char]
        if char == " ":
            behind_space = at + 1
    return [*pieces, line[start:]]


def encoded(text: str, noun: str) -> bytes:
    """Write a text as UTF-8.

    Args:
        text: Any text.
        noun: What it is, for the error.

    Raises:
        InputError: It has half of a surrogate pair, which is not a character.
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

    Half a pair is not a character: what has it can't be written as UTF-8, sent or stored.
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
    pending: list[tuple[Any, Any]] = [(value, made)]
    while pending:
        old, new = pending.pop()
        pairs: Any = cast("Any", old).items() if isinstance(old, dict) else enumerate(old)
        for name, item in pairs:
            if isinstance(item, dict | list):
                inner: Any = type(cast("Any", item))()
                pending.append((cast("Any", item), inner))
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
    """Write a text in one line of at most `limit` characters, for a person to read."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip(_LOOSE)}…"


_LOOSE = " \u200c\u200d\ufe0e\ufe0f"  # what means nothing at the end of a line that is cut


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


def size(count: int) -> str:
    """Write a count of bytes for people."""
    if count < 1 << 20:
        return f"{count / 1024:,.1f} KiB"
    return f"{count / (1 << 20):,.1f} MiB" if count < 1 << 30 else f"{count / (1 << 30):,.1f} GiB"


def tokens_of(text: str) -> int:
    """Estimate the tokens that a text takes."""
    return -(-len(text.encode(errors="replace")) // int(BYTES_PER_TOKEN))
