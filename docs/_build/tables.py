"""Markdown that the generated pages share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["GENERATED", "cell", "table"]

GENERATED = "<!-- Made from the code by `python docs/_build/reference.py`; don't edit it. -->"
"""What stands at the head of a generated page."""


def cell(text: str) -> str:
    """Return a text as it may stand in a cell of a table, in a single line."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
