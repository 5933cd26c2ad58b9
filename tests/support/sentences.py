"""The sentences of a Markdown page, as a reader counts their words."""

from __future__ import annotations

import re

from docs_pages import FENCE

__all__ = ["long_sentences", "sentences"]


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose.

    Code, tables, links' targets, comments, quotations and facts between middle dots are none.
    """
    text = FENCE.sub("\n\n", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^(?:\||> ).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`]+`", "x", text)
    text = re.sub(r"^.* · .* · .*$", "\n", text, flags=re.MULTILINE)
    found: list[str] = []
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s|^#+ ", text, flags=re.M):
        joined = " ".join(part.split())
        found += [piece for piece in re.split(r"(?<=[.!?])[)*]*\s+", joined) if piece]
    return found


def long_sentences(text: str, most: int = 30) -> list[str]:
    """Return the sentences of more words than `most`."""
    return [
        sentence for sentence in sentences(text) if len(re.findall(r"\w[\w'’-]*", sentence)) > most
    ]
