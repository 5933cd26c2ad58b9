"""Tables that are as wide as a page of the Prefect UI, so that no column runs off it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...text import one_line
from .page import Ref, Strong, Text, words_of

__all__ = ["fitted_rows"]

# The older UI breaks no line of a table: on a screen of 1,400 points a page has room for so many
# characters, less what each column has around it.
_PAGE, _AROUND, _LEAST = 125, 5, 12
_MOST_CELL = 300


def fitted_rows(header: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[tuple[Text, ...]]:
    """Cut the cells of the widest columns until the table fits; the pages of steps have it all."""
    room = max(0, _PAGE - _AROUND * len(header))
    widths = [
        max(len(name), *(min(len(words_of((row[place],))), _MOST_CELL) for row in rows))
        for place, name in enumerate(header)
    ]
    while sum(widths) > room and max(widths) > _LEAST:
        widest = max(range(len(widths)), key=widths.__getitem__)
        others = sorted(widths)[-2] if len(widths) > 1 else _LEAST
        over = sum(widths) - room
        widths[widest] = max(_LEAST, min(widths[widest] - 1, max(others, widths[widest] - over)))
    return [
        tuple(_cut(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]


def _cut(text: Text, width: int) -> Text:
    words = one_line(words_of((text,)), width)
    match text:
        case Ref() | Strong():
            return replace(text, text=words)
        case _:
            return words
