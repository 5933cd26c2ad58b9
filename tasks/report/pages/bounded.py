"""Texts and rows of a page within its bounds, which say what was left out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..page import Bullets, Quoted, Table, Text

__all__ = ["bounded_list", "bounded_table", "quoted"]

MOST_ROWS = 200
MOST_LINES = 50


def quoted(text: str, limit: int, language: str = "", *, whole: int | None = None) -> Quoted:
    """Quote the first characters of a text.

    Args:
        text: What is quoted.
        limit: The most characters.
        language: As in `Quoted`.
        whole: Characters of the whole, where the text is its beginning alone.
    """
    shown = text[:limit]
    return Quoted(shown, language, max(0, (whole or len(text)) - len(shown)))


def bounded_table(header: tuple[str, ...], rows: Sequence[tuple[Text, ...]]) -> Table:
    """Make a table of the first rows, and count the others."""
    return Table(header, tuple(rows[:MOST_ROWS]), more=max(0, len(rows) - MOST_ROWS))


def bounded_list(lines: Sequence[tuple[Text, ...]]) -> Bullets:
    """List the first lines, and count the others."""
    more = len(lines) - MOST_LINES
    shown = tuple(lines[:MOST_LINES])
    return Bullets((*shown, (f"{more:,} more.",)) if more > 0 else shown)
