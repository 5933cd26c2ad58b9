"""Pages of what is remembered, printed on a terminal or written to an HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...report.memory_pages import Period
from ...report.page import (
    Block,
    Bullets,
    Drawing,
    Figures,
    Page,
    Paragraph,
    Quoted,
    StepPicture,
    Table,
    masked,
    words_of,
)
from ..terminal.files import write_html
from ..terminal.printing import print_section, print_table, print_text

__all__ = ["print_blocks", "print_page", "write_page"]

_LEFT = frozenset(
    {"Until", "Outcome", "Tier", "Type of task", "Surely", "Attempt", "Ended", "Persona", "Asked"}
)
"""Columns of words; what else there is are figures, and stands to the right."""


def print_page(page: Page, plots: Sequence[str] = ()) -> None:
    """Print a page.

    Args:
        page: What it says.
        plots: Lines that are drawn below its lead.
    """
    print_section(page.title)
    print_blocks(page.lead)
    if plots:
        print_section(plots[0], plots[1:])
    for section in page.sections:
        print_section(section.title)
        print_blocks(section.blocks)


def write_page(path: Path, page: Page, found: Sequence[Period] = ()) -> int:
    """Write a page to an HTML file, with its periods drawn; return the command's exit code.

    Raises:
        InputError: The file can't be in such a place.
        StorageError: It can't be written.
    """
    from ...report.html import page_html
    from ...report.svg.costs import record_says, record_svg

    says = record_says(found) if found else ""
    write_html(path, page_html(masked(page), record_svg(found), says))
    print_text(f"Written to {path.resolve()}")
    return 0


def print_blocks(blocks: Sequence[Block]) -> None:
    """Print parts of a page, one after another."""
    for block in blocks:
        if isinstance(block, Table):
            _print_table(block)
            continue
        for line in _lines(block):
            print_text(line)


def _lines(block: Paragraph | Bullets | Figures | Quoted | Drawing | StepPicture) -> list[str]:
    match block:
        case Paragraph(texts):
            return [words_of(texts)]
        case Bullets(lines):
            return [words_of(line) for line in lines]
        case Figures(figures):
            name = max(len(figure.name) for figure in figures)
            value = max(len(figure.value) for figure in figures)
            return [f"{f.name:<{name}}  {f.value:<{value}}  {f.meaning}" for f in figures]
        case Quoted(text, _, left_out):
            return [text, *([f"… and {left_out:,} more characters"] if left_out else [])]
        case Drawing() | StepPicture():
            return [block.says]


def _print_table(table: Table) -> None:
    right = frozenset(table.header) - _LEFT
    print_table(
        table.header, [[words_of((cell,)) for cell in row] for row in table.rows], right=right
    )
    if table.more:
        print_text(f"… and {table.more:,} more")
