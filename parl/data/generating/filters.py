"""The filters of slots, such as `{x|title}`, `{x|or}` and `{x|first}`. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

__all__ = [
    "CHANGES",
    "JOINS",
    "LINE_JOINS",
    "PICKS",
    "change",
    "has_capital",
    "pick",
    "separator",
    "title",
]

T = TypeVar("T")

JOINS = ("and", "or", "vs", "commas", "slash", "semicolons", "bullets", "numbered", "lines")
"""Filters that join several entries; the default is `and`."""
LINE_JOINS = ("bullets", "numbered", "lines")
"""The joins that put each entry on its own line."""
PICKS = ("first", "last", "rest", "most", "prev")
"""Filters that pick entries; `rest` is all but the first, `most` all but the last."""

_SMALL_WORDS = """
a about after an and at before by during for from in into of on or the to with
"""


def title(text: str) -> str:
    """Return a text as part of an agent's name: at most three words, each with a capital."""
    text = re.sub(r"(?<=\w)#", "sharp", text.replace("++", "pp").replace("_", " "))
    plain = unicodedata.normalize("NFKD", text)
    # Drop accents; other characters that a name can't have split words.
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parts = re.sub(r"[^A-Za-z0-9'&/.-]", " ", plain.replace("’", "'")).split()
    words = [word.strip("'-./&") for word in parts]
    words = [word for word in words if word]
    while len(words) > 1 and words[0].lower() in ("a", "an", "the"):
        words = words[1:]
    if len(words) > 3:
        main_words = [word for word in words if word.lower() not in _SMALL_WORDS.split()]
        # Without a preposition the noun is the last word.
        words = main_words[:3] if len(main_words) < len(words) else main_words[-3:]
    return " ".join(word[0].upper() + word[1:] for word in words)


CHANGES: Mapping[str, Callable[[str], str]] = {
    "quote": lambda text: f'"{text}"',
    "title": title,
    "lower": str.lower,
    "cap": lambda text: text[:1].upper() + text[1:],
}
"""Filters that change an entry's text."""


def has_capital(filters: Sequence[str], *, first: bool) -> bool:
    """Say whether `cap` applies to an entry: only the first, or each on a line of its own."""
    return "cap" in filters and (first or any(name in LINE_JOINS for name in filters))


def change(filters: Sequence[str], text: str, *, first: bool = True) -> str:
    """Return an entry's text after its filters."""
    for name in filters:
        if name in CHANGES and (name != "cap" or has_capital(filters, first=first)):
            text = CHANGES[name](text)
    return text


def pick(filters: Sequence[str], entries: tuple[T, ...], place: int | None) -> tuple[T, ...]:
    """Return the entries that a slot shows; `place` is the index if it shows a single entry."""
    name = next((name for name in filters if name in PICKS), "")
    if name == "prev" and place is not None:
        return (entries[place - 1],)
    if name:
        ends = {"first": entries[:1], "last": entries[-1:]}
        return {**ends, "rest": entries[1:], "most": entries[:-1]}[name]
    return entries if place is None else (entries[place],)


def separator(filters: Sequence[str], index: int, count: int, *, serial_comma: bool) -> str:
    """Return the text before the entry at `index`; `serial_comma` puts a comma before `and`."""
    style = next((name for name in filters if name in JOINS), "and")
    if style in LINE_JOINS:
        prefix = {"bullets": "- ", "numbered": f"{index + 1}. ", "lines": ""}[style]
        return f"\n{prefix}" if index else prefix
    if index == 0:
        return ""
    if style in ("and", "or") and index == count - 1:
        return f"{',' if serial_comma and count > 2 else ''} {style} "
    return {"vs": " vs ", "slash": "/", "semicolons": "; "}.get(style, ", ")
