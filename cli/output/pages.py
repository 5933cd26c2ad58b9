"""A run's pages on a terminal: the same as in the Prefect UI, without links."""

from __future__ import annotations

from collections.abc import Sequence

from ...tasks.report.page import (
    Block,
    Bullets,
    Drawing,
    Figures,
    Page,
    Paragraph,
    Quoted,
    Section,
    Table,
    words_of,
)
from ...tasks.report.pages.parts import SEE_ALSO
from ...tasks.report.timeline import LEGEND, timeline
from ...tasks.report.view import RunView
from .printing import console, drawable, print_section, print_table, print_text

__all__ = ["print_page", "print_sections"]

_RIGHT = frozenset(
    {"Tries", "Work", "Tokens", "Took", "Characters", "Start", "Waited", "Slack", "Value"}
)


def print_page(page: Page, view: RunView) -> None:
    """Print a page, all its sections open.

    Args:
        page: What it says.
        view: What it was made from, for what is drawn.
    """
    print_section(page.title)
    for block in page.lead:
        if not isinstance(block, Paragraph) or block.texts[:1] != (SEE_ALSO,):
            _print(block, view)
    print_sections(page.sections, view)


def print_sections(sections: Sequence[Section], view: RunView) -> None:
    """Print sections; what can't be drawn on a terminal is left out."""
    for section in sections:
        blocks = [block for block in section.blocks if _is_shown(block, view)]
        if not blocks:
            continue
        is_drawn = any(isinstance(block, Drawing) for block in blocks)
        print_section(drawable(f"{section.title}   {LEGEND}") if is_drawn else section.title)
        for block in blocks:
            _print(block, view)


def _print(block: Block, view: RunView) -> None:
    match block:
        case Paragraph(texts):
            print_text(words_of(texts))
        case Bullets(lines):
            for texts in lines:
                print_text(words_of(texts))
        case Table():
            _print_table(block)
        case Figures(figures):
            rows = [(each.name, each.value, each.meaning) for each in figures]
            print_table(("Figure", "Value", "Meaning"), rows, right=_RIGHT)
        case Quoted(text, _, left_out):
            print_text(text)
            if left_out:
                print_text(f"[{left_out:,} more characters]")
        case Drawing():
            for line in _drawn(view):
                print_text(drawable(line))


def _print_table(block: Table) -> None:
    if block.rows:
        rows = [[words_of((cell,)) for cell in row] for row in block.rows]
        print_table(block.header, rows, right=_RIGHT)
    if block.more:
        print_text(f"{block.more:,} more.")


def _is_shown(block: Block, view: RunView) -> bool:
    return not isinstance(block, Drawing) or (block.kind == "timeline" and bool(_drawn(view)))


def _drawn(view: RunView) -> list[str]:
    return timeline([step.result for step in view.steps], console().width)
