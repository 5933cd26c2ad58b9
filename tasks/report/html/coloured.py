"""Code and diffs with colours, by classes of the style sheet. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import (
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
)
from pygments.util import ClassNotFound

from ..drawn.labels import harmless

__all__ = ["coloured"]

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
