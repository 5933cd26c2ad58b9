"""Read the pages of docs/ as a test needs them: sections, tables, fenced blocks."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["ROOT", "blocks", "page_path", "rows", "sections"]

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)


def sections(page: str) -> dict[str, str]:
    """Return the text below each heading of a page in docs/; "" is what stands before them.

    A page is named by its path there, or by its file's name alone if no other has that.
    """
    text = page_path(page).read_text("utf-8")
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
    return [body for _, found, body in _FENCED.findall(text) if found == language]


def _is_rule(line: str) -> bool:
    return bool(re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line))
