"""What slots do with their entries' texts: `{x|title}`, `{x|or}`, `{x|first}`. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

__all__ = [
    "CHANGES",
    "JOINS",
    "LINED",
    "PICKS",
    "between",
    "change",
    "has_capital",
    "pick",
    "title",
]

T = TypeVar("T")

JOINS = ("and", "or", "vs", "commas", "slash", "semicolons", "bullets", "numbered", "lines")
"""Filters that say how several entries are joined; `and` where none is given."""
LINED = ("bullets", "numbered", "lines")
"""Those of them that put each entry on a line of its own."""
PICKS = ("first", "last", "rest", "most", "prev")
"""Filters that take some entries: all but the first, all but the last, the one before."""

_SMALL = """
a about after an and at before by during for from in into of on or the to with
"""


def title(text: str) -> str:
    """Return a text as an agent's name has it: at most three words, each with a capital."""
    text = re.sub(r"(?<=\w)#", "sharp", text.replace("++", "pp").replace("_", " "))
    plain = unicodedata.normalize("NFKD", text)
    # What isn't a letter of a name splits words, but for the marks that only adorn letters.
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    found = re.sub(r"[^A-Za-z0-9'&/.-]", " ", plain.replace("’", "'")).split()
    words = [word.strip("'-./&") for word in found]
    words = [word for word in words if word]
    while len(words) > 1 and words[0].lower() in ("a", "an", "the"):
        words = words[1:]
    if len(words) > 3:
        big = [word for word in words if word.lower() not in _SMALL.split()]
        # A noun that no preposition follows stands last.
        words = big[:3] if len(big) < len(words) else big[-3:]
    return " ".join(word[0].upper() + word[1:] for word in words)


CHANGES: Mapping[str, Callable[[str], str]] = {
    "quote": lambda text: f'"{text}"',
    "title": title,
    "lower": str.lower,
    "cap": lambda text: text[:1].upper() + text[1:],
}
"""Filters that change an entry's text."""


def has_capital(filters: Sequence[str], *, first: bool) -> bool:
    """Say whether `cap` is for an entry: the first of a list in a sentence, or each on its line."""
    return "cap" in filters and (first or any(name in LINED for name in filters))


def change(filters: Sequence[str], text: str, *, first: bool = True) -> str:
    """Return an entry's text after its filters."""
    for name in filters:
        if name in CHANGES and (name != "cap" or has_capital(filters, first=first)):
            text = CHANGES[name](text)
    return text


def pick(filters: Sequence[str], entries: tuple[T, ...], place: int | None) -> tuple[T, ...]:
    """Return the entries that a slot shows; `place` is the entry's index where it is one entry."""
    name = next((name for name in filters if name in PICKS), "")
    if name == "prev" and place is not None:
        return (entries[place - 1],)
    if name:
        ends = {"first": entries[:1], "last": entries[-1:]}
        return {**ends, "rest": entries[1:], "most": entries[:-1]}[name]
    return entries if place is None else (entries[place],)


def between(filters: Sequence[str], index: int, count: int, *, serial: bool) -> str:
    """Return what stands before the entry at `index` of a list; `serial`: a comma before `and`."""
    style = next((name for name in filters if name in JOINS), "and")
    if style in LINED:
        sign = {"bullets": "- ", "numbered": f"{index + 1}. ", "lines": ""}[style]
        return f"\n{sign}" if index else sign
    if index == 0:
        return ""
    if style in ("and", "or") and index == count - 1:
        return f"{',' if serial and count > 2 else ''} {style} "
    return {"vs": " vs ", "slash": "/", "semicolons": "; "}.get(style, ", ")
