"""Markdown as it is drawn on a terminal."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.markdown import Markdown

__all__ = ["drawn"]


def drawn(text: str) -> Markdown:
    """Return Markdown to draw, of which nothing is left out.

    Links and images show where they lead, HTML is text, and the lines of a paragraph stay lines.
    """
    made = Markdown(text, hyperlinks=False)
    # Rich leaves HTML out, and what looks like it: List<int> would lose its type.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    made.parsed = parser.parse(text)
    for token in made.parsed:
        token.children = [_as_it_stands(child) for child in token.children or ()]
    return made


def _as_it_stands(token: Token) -> Token:
    """Have the lines of a paragraph stay lines, and a picture a text at its place."""
    if token.type == "softbreak":
        # Models write lists and verses without blank lines between.
        return Token("hardbreak", "br", 0)
    if token.type == "image":
        where = token.attrGet("src")
        return Token("text", "", 0, content=f"[picture: {token.content}] ({where})")
    return token
