"""A vector index of FAISS: exact while that is quick, by short codes first when it isn't."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import MemoryStoreError
from ..protocols import Match, Vectors

__all__ = ["EXACT_UP_TO", "FaissIndex", "search_tail", "similarities", "top_matches"]


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


EXACT_UP_TO = 20_000
"""Distinct vectors that are searched exhaustively; that takes 1 to 2 ms at 256 dimensions."""
_TRAINED_ON = 16_384
_GROWTH = 2
"""Growth factor of the number of vectors after which codes are trained again."""
_SAMPLES = 256
_AT = 10
_RECALL = 0.995
"""Share of the ten nearest to find on samples; a margin above the documented 0.99."""
_FEWEST, _MOST = 128, 2048
"""Candidates by codes; if more are needed, searching all vectors is as quick."""
_SLACK = 8
"""Additional candidates, since FAISS rounds differently from `similarities`."""

Positions = NDArray[np.int64]


class _Codes(NamedTuple):
    """Short codes of all vectors, how many candidates they have to name, and when they were made.

    Attributes:
        index: Searches by codes alone, 15 times as quick as by vectors.
        candidates: For ten results; as many times more for more.
        trained: How many vectors they were trained on.
    """

    index: Any
    candidates: int
    trained: int


class FaissIndex:
    """Distinct vectors by row, and the positions that have each.

    Retries share their step's prompt, so equal vectors are the rule. Kept once, they cost nothing
    in a search and can't displace other results.

    It is stored in a folder: `vectors.faiss`; `positions.npy` of shape (n, 2), each position and
    its row; and for many vectors `codes.faiss` and `codes.npy`, the latter with two figures of
    the codes. Any thread may read, one at a time may add.
    """

    def __init__(self, dimension: int) -> None:
        faiss = _faiss()
        self._index: Any = faiss.IndexFlatIP(dimension)
        self._dimension = dimension
        self._codes: _Codes | None = None
        self._pairs: Positions = np.empty((0, 2), dtype=np.int64)
        self._rows: dict[bytes, int] | None = {}
        self._known_positions: set[int] | None = None
        self._of_row: tuple[Positions, Positions] | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open what `write` wrote.

        Raises:
            MemoryStoreError: It doesn't exist, or can't be read.
        """
        faiss = _faiss()
        try:
            index: Any = faiss.read_index(str(path / "vectors.faiss"))
            pairs = np.load(path / "positions.npy", allow_pickle=False)
            codes = _read_codes(path)
        except (OSError, RuntimeError, ValueError, EOFError, MemoryError) as error:
            raise MemoryStoreError(
                f"The vectors in {path} can't be read: {error}.", "Rebuild the memory's index."
            ) from error
        made = cls(int(index.d))
        made._index, made._pairs, made._rows, made._codes = index, pairs, None, codes
        return made

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def dimension(self) -> int:
        """The vectors' width."""
        return self._dimension

    @property
    def is_exact(self) -> bool:
        """Whether a search looks at every vector."""
        return self._codes is None

    def add(self, positions: Sequence[int], vectors: Vectors) -> None:
        """Add vectors of length 1; positions that are already in it are skipped."""
        if self._known_positions is None:
            self._known_positions = set(self._pairs[:, 0].tolist())
        known, rows = self._known_positions, self._row_numbers()
        fresh: list[Vectors] = []
        pairs: list[tuple[int, int]] = []
        for position, vector in zip(positions, vectors, strict=True):
            if position in known:
                continue
            key = _key(vector)
            if key not in rows:
                rows[key] = len(rows)
                fresh.append(vector)
            pairs.append((position, rows[key]))
            known.add(position)
        if fresh:
            new = np.ascontiguousarray(np.stack(fresh), dtype=np.float32)
            self._index.add(new)
            if self._codes is not None:
                self._codes.index.add(new)
        if pairs:
            self._pairs = np.concatenate([self._pairs, np.array(pairs, dtype=np.int64)])
        self._of_row = None

    def search(self, vector: NDArray[np.float32], k: int) -> list[Match]:
        """The k most similar, best first; ties by position.

        Up to `EXACT_UP_TO` distinct vectors the result is exact; above, 99 % of it are found.
        """
        count = int(self._index.ntotal)
        if k <= 0 or not count:
            return []
        if not np.any(vector):
            return [Match(int(p), 0.0) for p in np.sort(self._pairs[:, 0])[:k]]
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
        rows = self._candidate_rows(query, k, count)
        if not rows.size:
            return []
        exact = similarities(self._index.reconstruct_batch(rows), query[0])
        positions, starts = self._positions_by_row()
        return top_matches(
            (
                Match(int(position), float(similarity))
                for row, similarity in zip(rows, exact, strict=True)
                for position in positions[starts[row] : starts[row + 1]][:k]
            ),
            k,
        )

    def positions(self) -> frozenset[int]:
        """All positions that are in it."""
        return frozenset(self._pairs[:, 0].tolist())

    def vectors(self) -> dict[int, Vectors]:
        """Every position's vector."""
        rows = self._all_vectors()
        return {int(position): rows[row] for position, row in self._pairs}

    def update_codes(self) -> None:
        """Train codes if there are too many vectors for an exhaustive search."""
        count = int(self._index.ntotal)
        made_for = self._codes.trained if self._codes else 0
        if count > max(EXACT_UP_TO, _GROWTH * made_for):
            self._codes = _make_codes(self._all_vectors())

    def write(self, path: Path) -> None:
        """Write it, with codes if needed, to a new folder.

        Raises:
            MemoryStoreError: It can't be written.
        """
        self.update_codes()
        try:
            path.mkdir(parents=True)
            np.save(path / "positions.npy", self._pairs)
            _faiss().write_index(self._index, str(path / "vectors.faiss"))
            if self._codes is not None:
                index, *figures = self._codes
                _faiss().write_index(index, str(path / "codes.faiss"))
                np.save(path / "codes.npy", np.array(figures, dtype=np.int64))
        except (OSError, RuntimeError) as error:
            raise MemoryStoreError(
                f"The vectors can't be written to {path}: {error}.", "Check the disk."
            ) from error

    def _candidate_rows(self, query: Vectors, k: int, count: int) -> Positions:
        """Rows that include the k nearest."""
        if self._codes is None:
            found = self._index.search(query, min(k + _SLACK, count))[1]
        else:
            candidates = self._codes.candidates * -(-k // _AT)
            found = self._codes.index.search(query, min(candidates, count))[1]
        return cast("Positions", found[0][found[0] >= 0])

    def _all_vectors(self) -> Vectors:
        count = int(self._index.ntotal)
        if not count:
            return np.empty((0, self._dimension), dtype=np.float32)
        return cast("Vectors", self._index.reconstruct_n(0, count))

    def _row_numbers(self) -> dict[bytes, int]:
        if self._rows is None:
            self._rows = {_key(vector): row for row, vector in enumerate(self._all_vectors())}
        return self._rows

    def _positions_by_row(self) -> tuple[Positions, Positions]:
        # Complete before it is assigned: another thread may be searching.
        found = self._of_row
        if found is None:
            order = np.lexsort((self._pairs[:, 0], self._pairs[:, 1]))
            counts = np.bincount(self._pairs[:, 1], minlength=int(self._index.ntotal))
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            found = self._of_row = (self._pairs[order, 0], starts)
        return found


def _faiss() -> Any:
    import faiss

    # Several threads would wait for each other by spinning, which slows other processes.
    faiss.omp_set_num_threads(1)
    return faiss


def _read_codes(path: Path) -> _Codes | None:
    if not (path / "codes.npy").exists():
        return None
    candidates, trained = np.load(path / "codes.npy", allow_pickle=False).tolist()
    return _Codes(_faiss().read_index(str(path / "codes.faiss")), candidates, trained)


def _key(vector: Vectors) -> bytes:
    # 0.0 and -0.0 are equal but have different bytes.
    return hashlib.blake2b((vector + np.float32(0)).tobytes(), digest_size=16).digest()


def _make_codes(vectors: Vectors) -> _Codes | None:
    """Codes of half a byte for each two dimensions; None if they would be too coarse."""
    faiss = _faiss()
    count, dimension = vectors.shape
    if dimension % 2:
        return None
    index: Any = faiss.IndexPQFastScan(dimension, dimension // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.seed = 1
    index.train(np.ascontiguousarray(vectors[:: max(1, count // _TRAINED_ON)]))
    index.add(vectors)
    candidates = _candidates_needed(index, vectors)
    return _Codes(index, candidates, count) if candidates else None


def _candidates_needed(index: Any, vectors: Vectors) -> int:
    """How many candidates include enough of the ten nearest, on samples; 0 if too many."""
    queries = np.ascontiguousarray(vectors[:: max(1, len(vectors) // _SAMPLES)])
    flat: Any = _faiss().IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    wanted = flat.search(queries, _AT)[1]
    candidates = _FEWEST
    while candidates <= min(_MOST, len(vectors)):
        found = index.search(queries, candidates)[1]
        hits = sum(len(np.intersect1d(*rows)) for rows in zip(wanted, found, strict=True))
        if hits >= _RECALL * wanted.size:
            return candidates
        candidates *= 2
    return 0
