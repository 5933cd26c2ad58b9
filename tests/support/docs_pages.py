"""Read the pages of docs/ as a test needs them: sections, tables, fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["FENCE", "ROOT", "blocks", "page_path", "rows", "sections", "sections_of"]

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<before>[> ]*)(?P<ticks>`{3,})(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=before)(?P=ticks)$",
    re.DOTALL | re.MULTILINE,
)
"""A fenced block, also of a list or a quotation: what its lines begin with is `before`."""


def sections(page: str) -> dict[str, str]:
    """Return the text below each heading of a page in docs/; "" is what stands before them.

    A page is named by its path there, or by its file's name alone if no other has that.
    """
    return sections_of(page_path(page).read_text("utf-8"))


def sections_of(text: str) -> dict[str, str]:
    """Return the text below each heading of a page's text."""
    first, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    return {"": first, **dict(other.split("\n", 1) for other in others)}


def page_path(page: str) -> Path:
    """Return where a page of docs/ is."""
    docs = ROOT / "docs"
    (path,) = [docs / page] if (docs / page).is_file() else docs.rglob(page)
    return path


def rows(text: str) -> list[list[str]]:
    """Return the rows of all tables, without their heads."""
    lines = text.splitlines()
    heads = {n - 1 for n, line in enumerate(lines) if _is_rule(line)}
    return [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for n, line in enumerate(lines)
        if line.startswith("|") and n not in heads and not _is_rule(line)
    ]


def blocks(text: str, language: str) -> list[str]:
    """Return what stands in the fenced blocks of a language."""
    return [found["text"] for found in FENCE.finditer(text) if found["language"] == language]


def _is_rule(line: str) -> bool:
    return bool(re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line))
