"""Fenced blocks of the pages that users read. Pure except for reading them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from docs_pages import FENCE, ROOT

__all__ = [
    "GENERATED",
    "LANGUAGES",
    "Fence",
    "all_pages",
    "documented_pages",
    "fences",
    "fences_in",
]

GENERATED = frozenset(
    {
        "docs/reference/cli.md",
        "docs/reference/options.md",
        "docs/reference/packages.md",
        "docs/reference/plan_language.md",
        "docs/reference/python.md",
        "docs/reference/settings.md",
    }
)
"""Pages that are made from the code: their blocks are signatures and usage lines, not commands."""
LANGUAGES = frozenset(
    {"console", "cypher", "json", "python", "sh", "sql", "text", "toml", "yaml"},
)
"""`console` is a session with prompts and output, `sh` are commands alone, `text` is neither."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its page below the root, the line that its text begins in, and the text."""

    page: str
    line: int
    language: str
    text: str


def all_pages() -> list[str]:
    """Return every page of the project, generated ones and those for its developers too."""
    found = [
        *ROOT.glob("*.md"),
        *(path for folder in ("docs", "benches", "parl") for path in (ROOT / folder).rglob("*.md")),
    ]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def documented_pages() -> list[str]:
    """Return the pages whose blocks are for a reader to type, README first."""
    docs = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", *(page for page in docs if page not in GENERATED)]


def fences(*languages: str) -> list[Fence]:
    """Return the blocks of all pages, of these languages or of all."""
    found = [
        fence
        for page in documented_pages()
        for fence in fences_in(page, (ROOT / page).read_text("utf-8"))
    ]
    return [fence for fence in found if not languages or fence.language in languages]


def fences_in(page: str, text: str) -> list[Fence]:
    """Return the blocks of a page's text; those of a list without its indentation."""
    return [
        Fence(
            page,
            text.count("\n", 0, match.start("text")) + 1,
            match["language"],
            re.sub(f"^{match['before']}", "", match["text"], flags=re.MULTILINE),
        )
        for match in FENCE.finditer(text)
    ]
