"""Texts that a model wrote, as bounded HTML that runs nothing and fetches nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import (
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
)
from pygments.util import ClassNotFound

from ..text import one_line
from .page import Block, Page, Quoted, Section
from .svg.theme import harmless

__all__ = ["coloured", "cut_pages", "prose"]


_LEAST = 200


def cut_pages(pages: Sequence[Page], budget: int, longest: int) -> list[Page]:
    """Cut quoted texts until all of them together have at most `budget` characters.

    Short texts stay whole: the longest are cut, to the same length. At least 200 characters stay
    of each. What is cut says so.

    Args:
        pages: The pages, of which those that come first have no advantage.
        budget: Characters of all quoted texts.
        longest: Characters of one at most.
    """
    lengths = sorted(
        len(block.text) for page in pages for block in _blocks(page) if isinstance(block, Quoted)
    )
    limit = max(_LEAST, min(longest, _limit(lengths, budget)))
    return [
        replace(
            page,
            lead=[_cut(block, limit) for block in page.lead],
            sections=[_cut_section(section, limit) for section in page.sections],
        )
        for page in pages
    ]


def _limit(lengths: Sequence[int], budget: int) -> int:
    """The length that texts can have so that all fit; `lengths` grow."""
    left = budget
    for number, length in enumerate(lengths):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def _blocks(page: Page) -> Iterable[Block]:
    yield from page.lead
    for section in page.sections:
        yield from section.blocks


def _cut_section(section: Section, limit: int) -> Section:
    return replace(section, blocks=[_cut(block, limit) for block in section.blocks])


def _cut(block: Block, limit: int) -> Block:
    if not isinstance(block, Quoted) or len(block.text) <= limit:
        return block
    rest = len(block.text) - limit
    return replace(block, text=block.text[:limit], left_out=block.left_out + rest)


_MOST = 30_000  # characters; colours take longer than all else, and more bytes than the text
_LINES = {"+": "added", "-": "removed", "@": "place"}


def coloured(text: str, language: str) -> Markup:
    """Return a text as HTML for a `pre`; a language that isn't known is plain."""
    text = harmless(text)
    if language == "diff":
        return Markup("\n").join(map(_line, text.split("\n")))
    if not language or len(text) > _MOST:
        return escape(text)
    try:
        lexer = _lexer(language)
    except ClassNotFound:
        return escape(text)
    return Markup(highlight(text, lexer, _formatter()).rstrip("\n"))  # noqa: S704 - it escapes


def _line(line: str) -> Markup:
    kind = _LINES.get(line[:1])
    drawn = escape(line)
    return Markup('<span class="{}">{}</span>').format(kind, drawn) if kind else drawn


@cache
def _lexer(language: str) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _formatter() -> Any:
    return cast("Any", HtmlFormatter)(nowrap=True, classprefix="k-")


_SCHEMES = frozenset({"http", "https", "mailto"})
_DEEPEST = 6
# What is wide or long scrolls within itself, by the keyboard too. In a text these are escaped.
_SCROLLED = {
    Markup("<table>"): Markup(
        '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>'
    ),
    Markup("</table>"): Markup("</table></div>"),
    Markup("<pre>"): Markup('<pre role="group" tabindex="0" aria-label="Code">'),
}


def prose(text: str, level: int) -> Markup:
    """Draw Markdown; its own HTML is text, an image its words, and a link says where it leads.

    Args:
        text: Anything.
        level: What its headings begin with: 3 for `h3`. They leave out no level.
    """
    parser = _parser()
    tokens = parser.parse(harmless(text))
    _set_headings(tokens, level)
    for token in tokens:
        if token.children:
            token.children = _harmless(token.children)
    # Once more: Markdown's entities have become characters.
    rendered = harmless(parser.renderer.render(tokens, parser.options, {}))
    drawn = Markup(rendered)  # noqa: S704 - html is off
    for plain, reachable in _SCROLLED.items():
        drawn = drawn.replace(plain, reachable)
    return drawn


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )


def _set_headings(tokens: Sequence[Token], level: int) -> None:
    """Give headings levels from `level` on, each at most one deeper than the one before."""
    before, last = level - 1, level
    for token in tokens:
        if token.type == "heading_open":
            last = min(level + int(token.tag[1]) - 1, before + 1, _DEEPEST)
            before = last
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{last}"


def _harmless(tokens: Sequence[Token]) -> list[Token]:
    kept: list[Token] = []
    closing: list[str | None] = []
    for token in tokens:
        if token.type == "image":
            alt = one_line(token.content, 200)
            kept.append(_text(f"[image: {alt}]" if alt else "[image]"))
        elif token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            if urlsplit(address).scheme.lower() in _SCHEMES:
                token.attrs = {"href": address, "rel": "noopener noreferrer nofollow"}
                kept.append(token)
                closing.append(_host(address))
            else:
                closing.append(None)
        elif token.type == "link_close":
            host = closing.pop() if closing else None
            if host is not None:
                kept.append(token)
                kept.append(_text(f" ({host})"))
        else:
            kept.append(token)
    return kept


def _host(address: str) -> str:
    parts = urlsplit(address)
    return one_line(parts.netloc.rpartition("@")[2] or parts.path, 60)


def _text(words: str) -> Token:
    return Token("text", "", 0, content=words)
