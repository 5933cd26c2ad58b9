"""How two texts differ, in a bounded number of lines. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from difflib import unified_diff
from itertools import islice

from ...frozen import Frozen

__all__ = ["MOST_LINES", "TextDifference", "compare_texts"]

MOST_LINES = 200
"""Lines that a comparison shows."""
_MOST_COMPARED = 2000
_COLUMNS = 100
_MOST_CHARS = _MOST_COMPARED * _COLUMNS


class TextDifference(Frozen):
    """A unified diff of two texts; lines of more than 100 characters are broken between words.

    Attributes:
        is_same: Whether the texts are the same, to the character.
        lines: The diff, without the lines that name files; at most 200. None where the texts
            differ in white space alone, in long lines.
        left_out: Lines of the diff that are left out.
        is_cut: Whether the texts were compared in their first 2,000 lines alone.
    """

    is_same: bool
    lines: tuple[str, ...] = ()
    left_out: int = 0
    is_cut: bool = False


def compare_texts(before: str, after: str) -> TextDifference:
    """Return how the second text differs from the first."""
    if before == after:
        return TextDifference(is_same=True)
    old, new = _lines(before), _lines(after)
    # The comparison's time grows with the product of the lines.
    is_cut = max(len(old), len(new)) > _MOST_COMPARED
    diff = unified_diff(old[:_MOST_COMPARED], new[:_MOST_COMPARED], lineterm="")
    lines = list(islice(diff, 2, None))
    return TextDifference(
        is_same=False,
        lines=tuple(lines[:MOST_LINES]),
        left_out=max(0, len(lines) - MOST_LINES),
        is_cut=is_cut,
    )


def _lines(text: str) -> list[str]:
    return list(islice(_broken(text), _MOST_COMPARED + 1))


def _broken(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if len(line) <= _COLUMNS:
            yield line
        else:
            yield from textwrap.wrap(line[:_MOST_CHARS], _COLUMNS, break_on_hyphens=False) or [""]
