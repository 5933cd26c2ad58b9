"""What a model reads of documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ...inputs.limits import size
from ...quoting import PromptPart, Quote, with_quotes
from ...text import one_line, plural
from .chunks import Document, SearchResult

__all__ = ["found_text", "list_text", "page_text", "similar_names"]

_PAGE = 12_000
"""Characters of a page, so that it comes whole through what a call may return."""
_NAMES = 200
_PATTERN = 200
_COMPARED = 2000
_UNREAD_SHOWN = 3


def found_text(result: SearchResult, query: str) -> str:
    """Write what a search found: each part below its document's name and lines."""
    parts: list[PromptPart] = [
        Quote(
            text=hit.chunk.text,
            label=f"[{_shown(hit.name)}, lines {hit.chunk.first_line}-{hit.chunk.last_line}]",
        )
        for hit in result.hits
    ]
    if not parts:
        parts = [f"Nothing was found for {one_line(query)!r}."]
    return "\n\n".join(with_quotes([*parts, *_not_searched(result)], explained=False))


def page_text(name: str, lines: Sequence[str], start: int, count: int) -> str:
    """Write some lines of a document, at most as many as a page has room for, and how to go on.

    Args:
        name: The document's.
        lines: All of its lines.
        start: The first wanted, from 1.
        count: How many are wanted.
    """
    if start > len(lines):
        return f"[{name} has {plural(len(lines), 'line')}; {start:,} is behind its end.]"
    shown, room = 0, _PAGE
    for line in lines[start - 1 : start - 1 + count]:
        room -= len(line) + 1
        if room < 0:
            break
        shown += 1
    end = start + shown - 1
    head = f"[{_shown(name)}, lines {start}-{end} of {len(lines)}]"
    page: list[PromptPart] = [Quote(text="\n".join(lines[start - 1 : end]), label=head)]
    if end < len(lines):
        page.append(f"[It goes on: start_line={end + 1}.]")
    return "\n".join(with_quotes(page, explained=False))


def list_text(documents: Iterable[Document], folder: str, pattern: str, *, complete: bool) -> str:
    """Write the names and sizes of the documents in a folder that fit a pattern.

    Args:
        documents: All of them.
        folder: What names begin with; "" for all.
        pattern: With `*` and `?`; it has to fit the whole name below `folder`, or the file's own.
        complete: Whether these are all that the folders have.
    """
    inside = f"{folder}/" if folder else ""
    wanted = pattern[:_PATTERN].casefold() or "*"
    found = [
        document
        for document in documents
        if document.name.startswith(inside) and _fits(document.name[len(inside) :], wanted)
    ]
    if not found:
        return f"No documents{f' in {folder}' if folder else ''} fit {pattern[:_PATTERN]!r}."
    lines = [f"{document.name} ({size(document.state.size)})" for document in found[:_NAMES]]
    if (more := len(found) - _NAMES) > 0:
        lines.append(f"[{more:,} more: narrow the pattern or name a folder.]")
    if not complete:
        lines.append("[The folders have more documents than are looked through.]")
    return "\n".join([plural(len(found), "document"), *lines])


def similar_names(name: str, documents: Sequence[Document]) -> list[str]:
    """Return names that somebody may have meant: of such a file elsewhere, or written alike."""
    own = name.rpartition("/")[2].casefold()
    names = [document.name for document in documents]
    same = [each for each in names if each.rpartition("/")[2].casefold() == own]
    return (same or get_close_matches(name, names[:_COMPARED], cutoff=0.6))[:3]


def _shown(name: str) -> str:
    # The model calls documents by these names: only what would end the line is taken out.
    return one_line(name, 500)


def _fits(path: str, pattern: str) -> bool:
    folded = path.casefold()
    return fnmatchcase(folded, pattern) or fnmatchcase(folded.rpartition("/")[2], pattern)


def _not_searched(result: SearchResult) -> list[str]:
    notes: list[str] = []
    if result.unread:
        notes.append(f"[{plural(len(result.unread), 'file')} can't be read: {_why(result.unread)}]")
    if result.left_out:
        notes.append(f"[{plural(result.left_out, 'document')} more than fit into the index.]")
    if not result.complete:
        notes.append("[The folders have more documents than are searched.]")
    return notes


def _why(unread: Mapping[str, str]) -> str:
    shown = [one_line(reason, 200) for reason in list(unread.values())[:_UNREAD_SHOWN]]
    return " ".join([*shown, *(["…"] if len(unread) > _UNREAD_SHOWN else [])])
