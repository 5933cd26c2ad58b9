"""Which parts of documents have the words of a question, by BM25. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["LexicalIndex", "Postings", "joined_postings", "postings_of"]

_SATURATION = 1.2
_LENGTH = 0.75

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Postings:
    """Which part has which word how often: three columns of one length.

    `lengths` has the count of words of each part.
    """

    words: Numbers
    parts: Numbers
    counts: NDArray[np.uint8]
    lengths: Numbers


def postings_of(texts: Sequence[Counter[int]]) -> Postings:
    """Return the postings of some parts, which are numbered from 0."""
    sizes = [len(counts) for counts in texts]
    words = [word for counts in texts for word in counts]
    counts = [min(count, 255) for counted in texts for count in counted.values()]
    return Postings(
        np.array(words, dtype=np.uint32),
        np.repeat(np.arange(len(texts), dtype=np.uint32), sizes),
        np.array(counts, dtype=np.uint8),
        np.array([counted.total() for counted in texts], dtype=np.uint32),
    )


def joined_postings(several: Sequence[Postings]) -> Postings:
    """Return the postings of all parts, which are numbered on from document to document."""
    if not several:
        return postings_of([])
    starts = np.cumsum([0, *(len(each.lengths) for each in several)])[:-1]
    parts = [each.parts + np.uint32(start) for each, start in zip(several, starts, strict=True)]
    return Postings(
        np.concatenate([each.words for each in several]),
        np.concatenate(parts),
        np.concatenate([each.counts for each in several]),
        np.concatenate([each.lengths for each in several]),
    )


class LexicalIndex:
    """All postings, by word."""

    def __init__(self, postings: Postings) -> None:
        order = np.argsort(postings.words, kind="stable")
        self._words = postings.words[order]
        self._parts = postings.parts[order]
        self._counts = postings.counts[order]
        self._lengths = postings.lengths

    def scores(self, words: Counter[int]) -> NDArray[np.float32]:
        """Return how far each part has the words of a question, from 0 to 1, shape (parts,).

        A word counts the more the fewer parts have it. Words that no part has count, too: what has
        nothing but a common word of a question comes out near 0.
        """
        total = np.zeros(len(self._lengths), dtype=np.float32)
        weights = 0.0
        for word in words:
            # As it is in the array: of another type, all of that would be converted first.
            number = np.uint32(word)
            start = int(np.searchsorted(self._words, number, "left"))
            end = int(np.searchsorted(self._words, number, "right"))
            weight = self._weight(end - start)
            weights += weight
            found = self._parts[start:end]
            counts = self._counts[start:end].astype(np.float32)
            total[found] += weight * counts / (counts + self._damping[found])
        return total / np.float32(weights) if weights else total

    def _weight(self, holders: int) -> float:
        return float(np.log1p((len(self._lengths) - holders + 0.5) / (holders + 0.5)))

    @cached_property
    def _damping(self) -> NDArray[np.float32]:
        mean = max(1.0, float(self._lengths.mean())) if len(self._lengths) else 1.0
        relative = self._lengths.astype(np.float32) / np.float32(mean)
        return _SATURATION * (1 - _LENGTH + _LENGTH * relative)
