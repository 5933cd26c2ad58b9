"""The lines that a document has for whoever reads it in parts. Pure."""

from __future__ import annotations

from ...text import clean

__all__ = ["MAX_LINE", "lines_of"]

MAX_LINE = 1000
"""Characters of a line: a longer one counts as several, so that any part can be asked for."""


def lines_of(text: str) -> list[str]:
    """Return a text's lines, without control characters and with long ones in pieces.

    Together they are all that the text says, in its order. An empty text has none.
    """
    found: list[str] = []
    for line in clean(text).rstrip().split("\n"):
        if len(line) <= MAX_LINE:
            found.append(line.rstrip())
        else:
            found += _pieces(line)
    return found if any(found) else []


def _pieces(line: str) -> list[str]:
    """Cut a long line between words, or within a word that is longer than that."""
    pieces: list[str] = []
    start = 0
    while len(line) - start > MAX_LINE:
        blank = line.rfind(" ", start + 1, start + MAX_LINE + 1)
        end = blank if blank > start else start + MAX_LINE
        pieces.append(line[start:end].rstrip())
        start = end
    pieces.append(line[start:].rstrip())
    return pieces
