"""Tables of text whose last column alone is cut, so that ids and figures are always whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from ...text import one_line

__all__ = ["table_lines"]

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
