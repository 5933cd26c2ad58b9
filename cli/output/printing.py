"""What a command prints to standard output: tables, a run's report, JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ...text import escaped, one_line, visible
from ..standard_streams import can_write

__all__ = [
    "console",
    "drawable",
    "print_artifact",
    "print_json",
    "print_section",
    "print_table",
    "print_text",
    "table_lines",
]


_GAP = "  "
_LEAST = 16  # characters of the last column, however narrow the terminal


def table_lines(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    right: frozenset[str] = frozenset(),
) -> list[str]:
    """Lay out a table: its header, a rule, and a line for each row.

    Args:
        header: The columns' names.
        rows: Texts; each is made one line.
        width: Characters there are in a line.
        right: Columns that are aligned to the right.
    """
    cells = [[one_line(cell, 1000) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(header))]
    others = sum(widths[:-1]) + len(_GAP) * (len(header) - 1)
    widths[-1] = min(widths[-1], max(_LEAST, width - others))
    aligned = [name in right for name in header]
    lines = [_line(row, widths, aligned) for row in cells]
    return [lines[0], "─" * min(width, others + widths[-1]), *lines[1:]]


def _line(cells: Sequence[str], widths: Sequence[int], aligned: Sequence[bool]) -> str:
    fitted = [
        " " * max(0, width - cell_len(cell)) + cell if is_right else _fit(cell, width)
        for cell, width, is_right in zip(cells, widths, aligned, strict=True)
    ]
    return _GAP.join(fitted).rstrip()


def _fit(cell: str, width: int) -> str:
    return cell if cell_len(cell) == width else _cut(cell, width)


def _cut(cell: str, width: int) -> str:
    if cell_len(cell) < width:
        return set_cell_size(cell, width)
    return set_cell_size(cell, width - 1).rstrip() + "…"


_PIPED_COLUMNS = 120


def console() -> Console:
    """Return a console on standard output as it is now; pipes get a fixed, wider line."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        width=_PIPED_COLUMNS if piped else None,
    )


def print_json(content: BaseModel | dict[str, Any]) -> None:
    """Print one JSON document."""
    text = (
        content.model_dump_json(indent=2)
        if isinstance(content, BaseModel)
        else json.dumps(content, indent=2, ensure_ascii=False)
    )
    print(escaped(text))  # noqa: T201 - the command's own output


def print_text(text: str) -> None:
    """Print a text that someone else wrote, with what is hidden in it as escapes.

    A terminal gets it wrapped between words, a pipe in its own lines.
    """
    if sys.stdout.isatty():
        console().print(Text(visible(text)))
    else:
        print(visible(text))  # noqa: T201 - the command's own output


def print_artifact(text: str) -> None:
    """Print what a run made: a person at a terminal reads it, a pipe or a file gets it as it is."""
    if sys.stdout.isatty():
        print_text(text.strip())
    else:
        print(text)  # noqa: T201 - the command's own output


def drawable(line: str) -> str:
    """Return a line of a drawing in characters that standard output has."""
    return line if can_write(_BARS, sys.stdout) else line.translate(_PLAIN_BARS)


_BARS = "█░▒"
_PLAIN_BARS = str.maketrans(_BARS, "#.x")


def print_section(title: str, lines: Iterable[str] = ()) -> None:
    """Print a heading and lines that must not be wrapped."""
    out = console()
    out.print()
    out.print(Text(_in_line(title), style="bold"))
    for line in lines:
        out.print(Text(_in_line(line)), no_wrap=True, overflow="ellipsis", crop=True)


def _in_line(text: str) -> str:
    return visible(text).replace("\n", " ")


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[str] = frozenset()
) -> None:
    """Print a table as wide as the terminal."""
    out = console()
    head, rule, *lines = table_lines(header, rows, out.width, right)
    if not can_write(rule, sys.stdout):
        rule = "-" * len(rule)
    for line in (head, rule, *lines):
        out.print(Text(line), no_wrap=True, crop=False)
