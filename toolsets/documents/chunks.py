"""Documents in parts that are searched: paragraphs, short ones together, long ones cut. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

__all__ = ["LEAST_CHUNK", "MAX_CHUNK", "Chunk", "chunks_of"]

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
