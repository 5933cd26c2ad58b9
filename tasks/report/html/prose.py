"""Markdown that a model wrote, as HTML that runs nothing and fetches nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from ....text import one_line
from ..drawn.labels import harmless

__all__ = ["prose"]

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
