"""A terminal's screen as coloured pieces of text: pyte reads what is written to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import pyte

__all__ = ["Line", "Look", "Span", "Terminal"]

_PIECES = re.compile(r"█+|[^\s█]+(?: [^\s█]+)*")
"""Blocks, or words with single spaces between them."""
_SECOND_HALF = "\u200b"
"""Stands for the second cell of a wide character, so that a cell is a character."""
_DIM, _BLINK, _FOREGROUND, _BACKGROUND = 2, 5, 38, 48
_COLOUR_NUMBERS = {5: 2, 2: 4}
"""How many numbers follow 38 or 48: a colour of a table, or red, green and blue."""


class Look(NamedTuple):
    """How text looks. A colour is a name of pyte's, or six hexadecimal digits."""

    colour: str = "default"
    ground: str = "default"
    bold: bool = False
    dim: bool = False
    underlined: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line: its first column, how many columns it takes, and its text."""

    column: int
    columns: int
    text: str
    look: Look


Line = tuple[Span, ...]


class Terminal:
    """A screen that is written to."""

    def __init__(self, columns: int, rows: int) -> None:
        self._screen = _DimScreen(columns, rows)
        self._stream = pyte.Stream(self._screen)

    def show(self, text: str) -> None:
        """Write to it, control sequences among the text."""
        self._stream.feed(text)

    def lines(self) -> tuple[Line, ...]:
        """Return all its lines, from the top."""
        return tuple(tuple(self._spans(row)) for row in range(self._screen.lines))

    def _spans(self, row: int) -> Iterator[Span]:
        cells = self._screen.buffer[row]
        shown = [(column, cells[column]) for column in range(self._screen.columns)]
        for look, group in groupby(shown, key=lambda cell: _look(cell[1])):
            found = list(group)
            start = found[0][0]
            text = "".join(char.data or _SECOND_HALF for _, char in found)
            whole = look.ground != "default" or look.underlined
            for piece in re.finditer(r".+", text) if whole else _PIECES.finditer(text):
                shown_text = piece[0].replace(_SECOND_HALF, "")
                yield Span(start + piece.start(), len(piece[0]), shown_text, look)


class _DimScreen(pyte.Screen):
    """pyte's screen has no dim text. It has text that blinks, which stands for it here."""

    def select_graphic_rendition(self, *attrs: int) -> None:
        super().select_graphic_rendition(*_without_dim(attrs))


def _without_dim(attributes: tuple[int, ...]) -> Iterator[int]:
    colour_numbers = 0
    for position, number in enumerate(attributes):
        if colour_numbers:
            colour_numbers -= 1
            yield number
        else:
            if number in (_FOREGROUND, _BACKGROUND):
                colour_numbers = _COLOUR_NUMBERS.get(attributes[position + 1], 0)
            yield _BLINK if number == _DIM else number


def _look(char: Any) -> Look:
    colour, ground = char.fg, char.bg
    if char.reverse:
        colour = "background" if ground == "default" else ground
        ground = "foreground" if char.fg == "default" else char.fg
    return Look(colour, ground, char.bold, char.blink, char.underscore)
