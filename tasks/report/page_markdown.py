"""A page as Markdown that both of Prefect's UIs draw. Pure.

What they have in common: headings, lists, tables, code, links and images that are data. The older
one draws no Mermaid and folds nothing, breaks no line of a table or of code, and its font has block
characters of a width of their own.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from .markdown import bullets, fenced, fitted_rows, plain, table, written
from .page import (
    Block,
    Bullets,
    Drawing,
    Figures,
    Page,
    Paragraph,
    Quoted,
    Ref,
    Strong,
    Table,
    Text,
)

__all__ = ["MOST_CHARS", "page_markdown"]

MOST_CHARS = 60_000
"""Characters of a page; drawings are not counted."""
_MOST_DRAWN = 400_000
_WORDS = 4_000
_COLUMNS = 78  # of a block of code, in the narrower one of Prefect's UIs

Link = Callable[[str], str]
Draw = Callable[[Drawing], str]


def page_markdown(page: Page, link: Link, draw: Draw = lambda _: "") -> str:
    """Write a page.

    Args:
        page: What it says.
        link: Returns where a page of that name is; "" if nowhere.
        draw: Returns an SVG; "" where there is none, and the drawing's words are written instead.
    """
    parts = [f"# {plain(page.title, 200)}"]
    parts += [_block(block, link, draw) for block in page.lead]
    for section in page.sections:
        blocks = [_block(block, link, draw) for block in section.blocks]
        title = [f"## {plain(section.title, 200)}"]
        parts += [*title, *blocks] if any(blocks) else []
    text = _bounded([part for part in parts if part])
    # Half of a surrogate pair is no character, and no server takes it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _bounded(parts: Sequence[str]) -> str:
    kept: list[str] = []
    chars = 0
    for number, part in enumerate(parts):
        chars += 0 if part.startswith(_IMAGE) else len(part) + 2
        if chars > MOST_CHARS:
            # Whole parts alone are left out: half of one could leave a block of code open.
            left = sum(len(rest) for rest in parts[number:])
            kept.append(f"*The page ends here; {left:,} characters of it are left out.*")
            break
        kept.append(part)
    return "\n\n".join(kept)


def _block(block: Block, link: Link, draw: Draw) -> str:
    match block:
        case Paragraph(texts):
            return _texts(texts, link)
        case Bullets(lines):
            return bullets([_texts(texts, link) for texts in lines])
        case Table():
            return _table(block, link)
        case Figures(figures):
            rows = [(each.name, each.value, each.meaning) for each in figures]
            return _table(Table(("Figure", "Value", "Meaning"), tuple(rows)), link)
        case Quoted():
            return _quoted(block)
        case Drawing():
            return _drawing(block, draw)


def _texts(texts: Sequence[Text], link: Link) -> str:
    return "".join(_text(text, link, _WORDS) for text in texts)


def _text(text: Text, link: Link, limit: int) -> str:
    match text:
        case Ref(page, words):
            target = link(page)
            return f"[{plain(words, limit)}]({target})" if target else plain(words, limit)
        case Strong(words):
            return f"**{plain(words, limit)}**"
        case _:
            # Making it one line takes the spaces at its ends, which divide it from its neighbours.
            before, after = (" " if edge.isspace() else "" for edge in (text[:1], text[-1:]))
            words = plain(text, limit)
            return f"{before}{words}{after}" if words else before


def _table(block: Table, link: Link) -> str:
    if not block.rows:
        return ""
    rows = [[_cell(cell, link) for cell in row] for row in fitted_rows(block.header, block.rows)]
    more = f"\n\n{block.more:,} more." if block.more else ""
    return table(block.header, rows) + more


def _cell(cell: Text, link: Link) -> str:
    return _text(cell, link, _WORDS).strip()


def _quoted(block: Quoted) -> str:
    if block.language == "markdown":
        text = written(block.text)
    else:
        text = fenced(block.text, block.language, columns=0 if block.language else _COLUMNS)
    left = f"\n\n*{block.left_out:,} more characters.*" if block.left_out else ""
    return text + left


_IMAGE = "!["


def _drawing(block: Drawing, draw: Draw) -> str:
    svg = draw(block)
    if not svg or len(svg) > _MOST_DRAWN:
        return plain(block.says, _WORDS)
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    return f"{_IMAGE}{plain(block.says, 300)}](data:image/svg+xml;base64,{data})"
