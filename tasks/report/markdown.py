"""Texts that a model may have written, as a page in the Prefect UI can show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...text import fenced, one_line

__all__ = ["bullets", "escape", "fenced", "label", "plain", "table", "unblocked"]

# What Markdown or HTML gives a meaning to: a link, or an image that is fetched, among others. Of
# entities, Prefect's pages read back only the five of HTML, and backslashes everywhere.
_MARKDOWN: Mapping[int, str] = str.maketrans(
    {
        **{char: f"\\{char}" for char in "\\`|[]*_~@"},
        "&": "&amp;",
        '"': "&quot;",
        "<": "&lt;",
        ">": "&gt;",
    }
)
# What becomes a link by itself, or a heading, a list or a line at the start of a paragraph.
_LINK = re.compile(r"(?<=www)\.|:(?=//)", re.IGNORECASE)
_BLOCK = re.compile(r"^([-+#=]+|\d+[.)])(?=\s|$)")
_MERMAID: Mapping[int, str] = str.maketrans(
    {char: f"#{ord(char)};" for char in '#&"<>'} | {"`": "'"}
)


def plain(text: str, limit: int) -> str:
    """Bound a text and take its power over the page away."""
    return unblocked(escape(one_line(text, limit)))


def escape(text: str) -> str:
    """Take the power of a part of a line away; `unblocked` takes that of the whole line's start."""
    return _LINK.sub(r"\\\g<0>", text.translate(_MARKDOWN))


def unblocked(line: str) -> str:
    """Have a line begin no heading, list or rule."""
    return _BLOCK.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", line)


def label(text: str, limit: int) -> str:
    """Do the same for the label of a Mermaid node."""
    return one_line(text, limit).translate(_MERMAID)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table of cells that are plain already."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def bullets(lines: Sequence[str]) -> str:
    """Write a Markdown list of lines that are plain already."""
    return "\n".join(f"- {line}" for line in lines)
