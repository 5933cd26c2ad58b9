"""Documents in parts that are searched: paragraphs, short ones together, long ones cut. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from zlib import crc32

from ...text import clean

__all__ = [
    "LEAST_CHUNK",
    "MAX_CHUNK",
    "MAX_LINE",
    "Chunk",
    "Document",
    "FileState",
    "Hit",
    "SearchResult",
    "chunks_of",
    "lines_of",
    "word_numbers",
    "words_of",
]


MAX_LINE = 1000
"""Characters of a line: a longer one counts as several, so that any part can be asked for."""


def lines_of(text: str) -> list[str]:
    """Return a text's lines, without control characters and with long ones in pieces.

    Together they are all that the text says, in its order. An empty text has none.
    """
    found: list[str] = []
    for line in clean(text).rstrip().split("\n"):
        if len(line) <= MAX_LINE:
            found.append(line.rstrip())
        else:
            found += _pieces(line)
    return found if any(found) else []


def _pieces(line: str) -> list[str]:
    """Cut a long line between words, or within a word that is longer than that."""
    pieces: list[str] = []
    start = 0
    while len(line) - start > MAX_LINE:
        blank = line.rfind(" ", start + 1, start + MAX_LINE + 1)
        end = blank if blank > start else start + MAX_LINE
        pieces.append(line[start:end].rstrip())
        start = end
    pieces.append(line[start:].rstrip())
    return pieces


_WORD = re.compile(r"\w+")
# Numbers, dates and what things are filed under count as a whole, too: 3.14, 2024-05-01, INV-20391.
_COMPOUND = re.compile(r"\b\w++(?:[-./:@#+]\w++)++")


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in small letters, and what is made up of several."""
    folded = text.casefold()
    return _WORD.findall(folded) + _COMPOUND.findall(folded)


def word_numbers(text: str) -> Counter[int]:
    """Return how often each word is there, by a number of 32 bits that stands for it."""
    counts = Counter(words_of(text))
    return Counter({_number(word): count for word, count in counts.items()})


def _number(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


LEAST_CHUNK = 500
"""Characters from which on a part takes no further paragraph: what speaks of many things is like
nothing that is asked."""
MAX_CHUNK = 1200
"""Characters of a part; it must be more than a line may have."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a document, counted from 1."""

    first_line: int
    last_line: int
    text: str


def chunks_of(lines: Sequence[str]) -> list[Chunk]:
    """Return the parts of a document, in its order.

    Each line that isn't blank is in just one of them.

    Args:
        lines: As `lines_of` makes them.
    """
    found: list[Chunk] = []
    taken: range | None = None
    for block in _blocks(lines):
        together = range(taken.start if taken else block.start, block.stop)
        is_full = taken is not None and _size(lines, taken) >= LEAST_CHUNK
        if taken is not None and (is_full or _size(lines, together) > MAX_CHUNK):
            found.append(_chunk(lines, taken))
            together = block
        taken = together
    return [*found, _chunk(lines, taken)] if taken else found


def _blocks(lines: Sequence[str]) -> Iterator[range]:
    """Yield the paragraphs as ranges of indexes; of a long one, pieces that fit."""
    for is_text, group in groupby(range(len(lines)), lambda n: bool(lines[n].strip())):
        numbers = list(group)
        if is_text:
            yield from _fitting(lines, range(numbers[0], numbers[-1] + 1))


def _fitting(lines: Sequence[str], block: range) -> Iterator[range]:
    start, size = block.start, 0
    for number in block:
        length = len(lines[number]) + 1
        if size + length > MAX_CHUNK and number > start:
            yield range(start, number)
            start, size = number, 0
        size += length
    yield range(start, block.stop)


def _size(lines: Sequence[str], part: range) -> int:
    return sum(len(lines[number]) + 1 for number in part)


def _chunk(lines: Sequence[str], part: range) -> Chunk:
    return Chunk(part.start + 1, part.stop, "\n".join(lines[part.start : part.stop]))


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
