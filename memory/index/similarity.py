"""Exact similarities and their order: equal pairs get equal values wherever they are computed."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..protocols import Match, Vectors

__all__ = ["search_tail", "similarities", "top_matches"]

_CHUNK = 8192
_ROUNDING = 1e-4
"""Upper bound of the rounding error of a single-precision product of rows of length 1."""


def similarities(vectors: Vectors, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine similarities of rows of length 1 with a query, shape (n,).

    Summed row by row in double precision, so that a row's value doesn't depend on the other rows; a
    matrix product's does, and equal rows would get different values.
    """
    wide = query.astype(np.float64)
    result = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _CHUNK):
        part = vectors[start : start + _CHUNK].astype(np.float64)
        result[start : start + _CHUNK] = (part * wide).sum(axis=1)
    return np.clip(result, -1.0, 1.0)


def top_matches(matches: Iterable[Match], k: int) -> list[Match]:
    """The k most similar, best first; ties by position."""
    return heapq.nsmallest(k, matches, key=lambda match: (-match.similarity, match.position))


def search_tail(
    vectors: Vectors, positions: Sequence[int], query: NDArray[np.float32], k: int
) -> list[Match]:
    """Search by brute force: the k most similar, best first.

    Args:
        vectors: Shape (n, dimension), rows of length 1.
        positions: The n rows' positions, rising.
        query: Shape (dimension,).
        k: How many at most.
    """
    if not len(vectors) or k <= 0:
        return []
    near = _candidate_rows(vectors, query, k)
    found = similarities(vectors[near], query)
    order: list[int] = np.argsort(-found, kind="stable")[:k].tolist()
    rows: list[int] = near.tolist()
    return [Match(int(positions[rows[n]]), float(found[n])) for n in order]


def _candidate_rows(vectors: Vectors, query: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Rows that may be among the k most similar, by a quick approximate product."""
    count = len(vectors)
    if count <= k:
        return np.arange(count)
    about = vectors @ query
    least = np.partition(about, count - k)[count - k]
    return np.flatnonzero(about >= least - _ROUNDING)
