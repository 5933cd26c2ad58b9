"""What a model reads of the web. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...quoting.quotes import PromptPart, Quote, with_quotes
from ...text import clean, one_line

__all__ = ["failure_text", "page_text", "results_text"]

_PAGE = 12_000
_EXCERPT = 500
_TITLE = 200
_MESSAGE = 400
# What pydantic-ai adds for whoever writes the program.
_FOR_PROGRAMS = re.compile(
    r"(?:(?<!\s)\s++)?Use force_download=\S++ to allow local network access\.?"
)


def results_text(results: Sequence[Mapping[str, str]], query: str) -> str:
    """Write the results of a search, each with its title, address and excerpt."""
    parts = [
        f"{number}. {one_line(result['title'], _TITLE)}\n{one_line(result['href'], 2000)}\n"
        f"{one_line(result['body'], _EXCERPT)}"
        for number, result in enumerate(results, 1)
    ]
    return "\n\n".join(parts) or f"Nothing was found for {one_line(query)!r}."


def page_text(url: str, title: str, text: str, start: int) -> str:
    """Write a page from a character on, at most as much as an answer has room for."""
    whole = clean(text).strip()
    shown = whole[start : start + _PAGE]
    end = start + len(shown)
    named = f": {one_line(title, _TITLE)}" if title.strip() else ""
    head = f"[{one_line(url, 500)}{named}, characters {start:,} to {end:,} of {len(whole):,}]"
    page: list[PromptPart] = [Quote(text=shown, label=head)]
    if end < len(whole):
        page.append(f"[It goes on: start={end}.]")
    return "\n".join(with_quotes(page, explained=False))


def failure_text(message: str) -> str:
    """Write why something can't be had, in a line."""
    return one_line(_FOR_PROGRAMS.sub("", message), _MESSAGE)
