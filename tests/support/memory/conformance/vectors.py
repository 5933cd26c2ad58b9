"""What every `VectorIndex` has to do. Its tests say how to make one and how to read one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from prefect_swarm.memory.embedding.vectors import unit_rows
from prefect_swarm.memory.index.similarity import search_tail
from prefect_swarm.memory.protocols import Match, VectorIndex, Vectors

__all__ = ["Read", "VectorIndexConformance", "some"]

Read = Callable[[Path], VectorIndex]
DIMENSION = 16


def some(count: int, dimension: int = DIMENSION, seed: int = 0) -> Vectors:
    """Vectors of length 1, the same for the same seed."""
    return unit_rows(np.random.default_rng(seed).standard_normal((count, dimension)), dimension)


def filled(index: VectorIndex, vectors: Vectors, first: int = 1) -> VectorIndex:
    index.add(range(first, first + len(vectors)), vectors)
    return index


def places(matches: Sequence[Match]) -> list[int]:
    return [match.position for match in matches]


class VectorIndexConformance:
    """The whole suite."""

    @pytest.fixture
    def new(self) -> Callable[[], VectorIndex]:
        """Makes indexes of `DIMENSION` with nothing in them."""
        raise NotImplementedError

    @pytest.fixture
    def read(self) -> Read:
        """Reads an index that was written."""
        raise NotImplementedError

    @pytest.mark.parametrize("seed", range(40))
    def test_it_finds_what_brute_force_finds(
        self, seed: int, new: Callable[[], VectorIndex]
    ) -> None:
        dice = np.random.default_rng(seed)
        count, kinds, k = (int(dice.integers(*ends)) for ends in ((0, 40), (1, 12), (1, 8)))
        vectors = some(kinds, seed=seed)[dice.integers(0, kinds, count)]
        query = some(1, seed=seed + 1)[0]
        wanted = search_tail(vectors, range(1, count + 1), query, k)
        assert filled(new(), vectors).search(query, k) == wanted

    def test_equal_ones_come_by_position(self, new: Callable[[], VectorIndex]) -> None:
        row, index = some(1), new()
        index.add([7, 3, 5], np.repeat(row, 3, axis=0))
        assert places(index.search(row[0], 2)) == [3, 5]

    def test_many_equal_ones_crowd_nobody_out(self, new: Callable[[], VectorIndex]) -> None:
        first, second = some(2)
        index = filled(new(), np.repeat(first[None], 500, axis=0))
        index.add([501], second[None])
        assert places(index.search(second, 1)) == [501]
        assert len(index.search(first, 501)) == 501

    def test_a_query_without_direction_finds_the_first_positions(
        self, new: Callable[[], VectorIndex]
    ) -> None:
        found = filled(new(), some(5)).search(np.zeros(DIMENSION, np.float32), 2)
        assert found == [Match(1, 0.0), Match(2, 0.0)]

    def test_an_empty_index_finds_nothing(
        self, new: Callable[[], VectorIndex], read: Read, tmp_path: Path
    ) -> None:
        new().write(tmp_path / "v")
        assert read(tmp_path / "v").search(some(1)[0], 3) == []

    def test_it_comes_back_from_its_file_and_can_be_added_to(
        self, new: Callable[[], VectorIndex], read: Read, tmp_path: Path
    ) -> None:
        vectors = some(30)
        filled(new(), vectors[:20]).write(tmp_path / "v")
        again = filled(read(tmp_path / "v"), vectors[20:], first=21)
        assert again.positions() == frozenset(range(1, 31))
        assert again.search(vectors[25], 30) == filled(new(), vectors).search(vectors[25], 30)

    def test_a_position_is_added_once(self, new: Callable[[], VectorIndex]) -> None:
        index = filled(new(), some(3))
        index.add([2], some(1, seed=5))
        assert index.positions() == {1, 2, 3}
        assert index.search(some(3)[1], 1)[0].similarity == pytest.approx(1.0)
