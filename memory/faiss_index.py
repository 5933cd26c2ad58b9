"""A vector index of FAISS: exact while that is quick, by cells when it no longer is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import MemoryStoreError
from .protocols import Match, Vectors
from .similarity import best, similarities

__all__ = ["EXACT_UP_TO", "FaissIndex"]

EXACT_UP_TO = 20_000
"""Distinct vectors that are searched one by one; that takes 1 to 2 ms at 256 dimensions."""
_CELLS_PER_ROOT = 1.0
_TRAINED_ON = 64
"""Vectors a cell that its centre is made from."""
_GROWTH = 2
"""How many times as many vectors make new cells."""
_SAMPLES = 256
_RECALL = 0.995
"""Of the ten nearest, on samples; a margin above the 0.99 that is promised."""
_SLACK = 8
"""More candidates than asked for, since FAISS rounds otherwise than `similarities`."""

Positions = NDArray[np.int64]


class FaissIndex:
    """Distinct vectors by row, and the positions that have each.

    Retries share their step's prompt, so equal vectors are the rule. Kept once, they cost nothing
    in a search and can't crowd one another out of it.

    It lies in a folder: `vectors.faiss`, and `positions.npy` of shape (n, 2) with each position and
    its row. Reading is safe from any thread, adding is for one.
    """

    def __init__(self, dimension: int) -> None:
        faiss = _faiss()
        self._index: Any = faiss.IndexFlatIP(dimension)
        self._dimension = dimension
        self._trained = 0
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
        except (OSError, RuntimeError, ValueError, EOFError, MemoryError) as error:
            raise MemoryStoreError(
                f"The vectors in {path} can't be read: {error}.", "Rebuild the memory's index."
            ) from error
        made = cls(int(index.d))
        made._index, made._pairs, made._rows = index, pairs, None
        made._trained = int(index.ntotal) if hasattr(index, "nprobe") else 0
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
        return not hasattr(self._index, "nprobe")

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
            self._index.add(np.ascontiguousarray(np.stack(fresh), dtype=np.float32))
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
        _, found = self._index.search(query, min(k + _SLACK, count))
        rows = found[0][found[0] >= 0]
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
        """Make cells, or new ones, where there are too many vectors to look at all of them."""
        count = int(self._index.ntotal)
        if count > max(EXACT_UP_TO, _GROWTH * self._trained):
            self._index = _cells(self._all())
            self._trained = count

    def write(self, path: Path) -> None:
        """Write it to a new folder, cells made.

        Raises:
            MemoryStoreError: It can't be written.
        """
        self.settle()
        try:
            path.mkdir(parents=True)
            np.save(path / "positions.npy", self._pairs)
            _faiss().write_index(self._index, str(path / "vectors.faiss"))
        except (OSError, RuntimeError) as error:
            raise MemoryStoreError(
                f"The vectors can't be written to {path}: {error}.", "Check the disk."
            ) from error

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


def _key(vector: Vectors) -> bytes:
    # A zero has two forms that are one number.
    return hashlib.blake2b((vector + np.float32(0)).tobytes(), digest_size=16).digest()


def _cells(vectors: Vectors) -> Any:
    """An index that looks only into the cells nearest to a query, and into enough of them."""
    faiss = _faiss()
    cells = int(_CELLS_PER_ROOT * len(vectors) ** 0.5)
    dimension = vectors.shape[1]
    centres: Any = faiss.IndexFlatIP(dimension)
    index: Any = faiss.IndexIVFFlat(centres, dimension, cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.spherical = True
    index.cp.seed = 1
    index.cp.max_points_per_centroid = _TRAINED_ON
    index.train(vectors)
    index.add(vectors)
    index.make_direct_map()
    index.nprobe = _enough_cells(index, vectors, cells)
    return index


def _enough_cells(index: Any, vectors: Vectors, cells: int) -> int:
    """The fewest cells to look into that find the ten nearest of samples well enough.

    A sample's own vector doesn't count: it is always in the first cell.
    """
    queries = vectors[:: max(1, len(vectors) // _SAMPLES)]
    flat: Any = _faiss().IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    wanted = flat.search(queries, 11)[0]
    floor = wanted[:, 10:] - 1e-6
    probes = 8
    while probes < cells:
        index.nprobe = probes
        found = index.search(queries, 11)[0]
        if ((found >= floor).sum() - len(queries)) / (10 * len(queries)) >= _RECALL:
            return probes
        probes = probes * 5 // 4 + 1
    return cells
