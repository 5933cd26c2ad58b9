"""Documents and what a search finds in them: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .chunks import Chunk

__all__ = ["Document", "FileState", "Hit", "SearchResult"]


@dataclass(frozen=True, slots=True)
class FileState:
    """A file below a folder, and what tells whether it is as it was.

    Attributes:
        parts: Its path from the folder.
        size: In bytes.
        changed_ns: When its content or its permissions last changed, as the system counts.
    """

    parts: tuple[str, ...]
    size: int
    changed_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was when the folders were looked through.

    Attributes:
        folder: The index of its folder.
    """

    name: str
    folder: int
    state: FileState


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a document that a question found, with its score; higher is better."""

    name: str
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, and what it didn't look at.

    Attributes:
        hits: Parts, best first.
        unread: Why documents can't be read, by name.
        left_out: How many documents don't fit into the index.
        complete: Whether the folders have no more documents than are looked through.
    """

    hits: tuple[Hit, ...]
    unread: Mapping[str, str]
    left_out: int
    complete: bool
