"""Texts that a model may have written, as a page in the Prefect UI can show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...text import one_line

__all__ = ["bullets", "label", "plain", "table"]

_CELL = 300

# What Markdown or HTML gives a meaning to: a link, or an image that is fetched, among others. Of
# entities, Prefect's pages read back only the five of HTML, and backslashes everywhere.
_MARKDOWN: Mapping[str, str] = {
    **{char: f"\\{char}" for char in "\\`|[]*_~@"},
    "&": "&amp;",
    '"': "&quot;",
    "<": "&lt;",
    ">": "&gt;",
}
# What becomes a link by itself, or a heading, a list or a line at the start of a paragraph.
_LINK = re.compile(r"(?<=www)\.|:(?=//)", re.IGNORECASE)
_BLOCK = re.compile(r"^([-+#=]+|\d+[.)])(?=\s|$)")
_MERMAID: Mapping[str, str] = {char: f"#{ord(char)};" for char in '#&"<>'} | {"`": "'"}


def plain(text: str, limit: int) -> str:
    """Bound a text and take its power over the page away."""
    escaped = _LINK.sub(r"\\\g<0>", _escaped(one_line(text, limit), _MARKDOWN))
    return _BLOCK.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", escaped)


def label(text: str, limit: int) -> str:
    """Do the same for the label of a Mermaid node."""
    return _escaped(one_line(text, limit), _MERMAID)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table; cells are made plain."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(plain(cell, _CELL) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def bullets(lines: Sequence[str]) -> str:
    """Write a Markdown list of lines that are plain already."""
    return "\n".join(f"- {line}" for line in lines)


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in text)
