"""A vector index of FAISS: exact while that is quick, by short codes first when it isn't."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import MemoryStoreError
from ..protocols import Match, Vectors
from .similarity import best, similarities

__all__ = ["EXACT_UP_TO", "FaissIndex"]

EXACT_UP_TO = 20_000
"""Distinct vectors that are searched one by one; that takes 1 to 2 ms at 256 dimensions."""
_TRAINED_ON = 16_384
_GROWTH = 2
"""How many times as many vectors make new codes."""
_SAMPLES = 256
_AT = 10
_RECALL = 0.995
"""Of the ten nearest, on samples; a margin above the 0.99 that is promised."""
_FEWEST, _MOST = 128, 2048
"""Candidates by codes; where more were needed, looking at all vectors is as quick."""
_SLACK = 8
"""More candidates than asked for, since FAISS rounds otherwise than `similarities`."""

Positions = NDArray[np.int64]


class _Codes(NamedTuple):
    """Short codes of all vectors, how many candidates they have to name, and when they were made.

    Attributes:
        index: Searches by codes alone, 15 times as quick as by vectors.
        candidates: For ten results; as many times more for more.
        trained: How many vectors there were when the code was chosen.
    """

    index: Any
    candidates: int
    trained: int


class FaissIndex:
    """Distinct vectors by row, and the positions that have each.

    Retries share their step's prompt, so equal vectors are the rule. Kept once, they cost nothing
    in a search and can't crowd one another out of it.

    It lies in a folder: `vectors.faiss`, `positions.npy` of shape (n, 2) with each position and its
    row, and where there are many `codes.faiss` and `codes.npy`, the latter with two figures of
    them. Reading is safe from any thread, adding is for one.
    """

    def __init__(self, dimension: int) -> None:
        faiss = _faiss()
        self._index: Any = faiss.IndexFlatIP(dimension)
        self._dimension = dimension
        self._codes: _Codes | None = None
        self._pairs: Positions = np.empty((0, 2), dtype=np.int64)
        self._rows: dict[bytes, int] | None = {}
        self._there: set[int] | None = None
        self._of_row: tuple[Positions, Positions] | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open what `write` wrote.

        Raises:
            MemoryStoreError: It isn't there, or can't be read.
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
    def exact(self) -> bool:
        """Whether a search looks at every vector."""
        return self._codes is None

    def add(self, positions: Sequence[int], vectors: Vectors) -> None:
        """Add vectors of length 1; a position that is there stays as it is."""
        if self._there is None:
            self._there = set(self._pairs[:, 0].tolist())
        there, rows = self._there, self._known_rows()
        fresh: list[Vectors] = []
        pairs: list[tuple[int, int]] = []
        for position, vector in zip(positions, vectors, strict=True):
            if position in there:
                continue
            key = _key(vector)
            if key not in rows:
                rows[key] = len(rows)
                fresh.append(vector)
            pairs.append((position, rows[key]))
            there.add(position)
        if fresh:
            new = np.ascontiguousarray(np.stack(fresh), dtype=np.float32)
            self._index.add(new)
            if self._codes is not None:
                self._codes.index.add(new)
        if pairs:
            self._pairs = np.concatenate([self._pairs, np.array(pairs, dtype=np.int64)])
        self._of_row = None

    def search(self, vector: NDArray[np.float32], k: int) -> list[Match]:
        """The k most similar, best first; equal ones by position.

        Below `EXACT_UP_TO` distinct vectors they are the k most similar; above, 99 % of them are.
        """
        count = int(self._index.ntotal)
        if k <= 0 or not count:
            return []
        if not np.any(vector):
            return [Match(int(p), 0.0) for p in np.sort(self._pairs[:, 0])[:k]]
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
        rows = self._near(query, k, count)
        if not rows.size:
            return []
        exact = similarities(self._index.reconstruct_batch(rows), query[0])
        positions, starts = self._by_row()
        return best(
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
        rows = self._all()
        return {int(position): rows[row] for position, row in self._pairs}

    def settle(self) -> None:
        """Make codes, or better ones, where there are too many vectors to look at all of them."""
        count = int(self._index.ntotal)
        made_for = self._codes.trained if self._codes else 0
        if count > max(EXACT_UP_TO, _GROWTH * made_for):
            self._codes = _codes_of(self._all())

    def write(self, path: Path) -> None:
        """Write it to a new folder, codes made.

        Raises:
            MemoryStoreError: It can't be written.
        """
        self.settle()
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

    def _near(self, query: Vectors, k: int, count: int) -> Positions:
        """Rows among which the k nearest are."""
        if self._codes is None:
            found = self._index.search(query, min(k + _SLACK, count))[1]
        else:
            candidates = self._codes.candidates * -(-k // _AT)
            found = self._codes.index.search(query, min(candidates, count))[1]
        return cast("Positions", found[0][found[0] >= 0])

    def _all(self) -> Vectors:
        count = int(self._index.ntotal)
        if not count:
            return np.empty((0, self._dimension), dtype=np.float32)
        return cast("Vectors", self._index.reconstruct_n(0, count))

    def _known_rows(self) -> dict[bytes, int]:
        if self._rows is None:
            self._rows = {_key(vector): row for row, vector in enumerate(self._all())}
        return self._rows

    def _by_row(self) -> tuple[Positions, Positions]:
        # Made whole before it is kept: another thread may search meanwhile.
        found = self._of_row
        if found is None:
            order = np.lexsort((self._pairs[:, 0], self._pairs[:, 1]))
            counts = np.bincount(self._pairs[:, 1], minlength=int(self._index.ntotal))
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            found = self._of_row = (self._pairs[order, 0], starts)
        return found


def _faiss() -> Any:
    import faiss

    # More threads wait for one another by spinning, which starves whatever runs beside.
    faiss.omp_set_num_threads(1)
    return faiss


def _read_codes(path: Path) -> _Codes | None:
    if not (path / "codes.npy").exists():
        return None
    candidates, trained = np.load(path / "codes.npy", allow_pickle=False).tolist()
    return _Codes(_faiss().read_index(str(path / "codes.faiss")), candidates, trained)


def _key(vector: Vectors) -> bytes:
    # A zero has two forms that are one number.
    return hashlib.blake2b((vector + np.float32(0)).tobytes(), digest_size=16).digest()


def _codes_of(vectors: Vectors) -> _Codes | None:
    """Codes of half a byte for each two dimensions; None where they would tell too little."""
    faiss = _faiss()
    count, dimension = vectors.shape
    if dimension % 2:
        return None
    index: Any = faiss.IndexPQFastScan(dimension, dimension // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.seed = 1
    index.train(np.ascontiguousarray(vectors[:: max(1, count // _TRAINED_ON)]))
    index.add(vectors)
    candidates = _enough(index, vectors)
    return _Codes(index, candidates, count) if candidates else None


def _enough(index: Any, vectors: Vectors) -> int:
    """How many candidates the ten nearest of samples are well enough among; 0 if too many."""
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
