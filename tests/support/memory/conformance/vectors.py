"""Conformance of an index of vectors. Its tests say how to make one and how to read one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from prefect_swarm.memory.embedding import unit_rows
from prefect_swarm.memory.index.faiss import FaissIndex, search_tail
from prefect_swarm.memory.protocols import Match, Vectors

__all__ = ["IndexReader", "VectorIndexConformance", "random_vectors"]

IndexReader = Callable[[Path], FaissIndex]
DIMENSION = 16


def random_vectors(count: int, dimension: int = DIMENSION, seed: int = 0) -> Vectors:
    """Vectors of length 1, the same for the same seed."""
    return unit_rows(np.random.default_rng(seed).standard_normal((count, dimension)), dimension)


def fill(index: FaissIndex, vectors: Vectors, first: int = 1) -> FaissIndex:
    index.add(range(first, first + len(vectors)), vectors)
    return index


def positions_of(matches: Sequence[Match]) -> list[int]:
    return [match.position for match in matches]


class VectorIndexConformance:
    """The whole suite."""

    @pytest.fixture
    def new_index(self) -> Callable[[], FaissIndex]:
        """Makes indexes of `DIMENSION` with nothing in them."""
        raise NotImplementedError

    @pytest.fixture
    def read_index(self) -> IndexReader:
        """Reads an index that was written."""
        raise NotImplementedError

    @pytest.mark.parametrize("seed", range(40))
    def test_it_finds_what_brute_force_finds(
        self, seed: int, new_index: Callable[[], FaissIndex]
    ) -> None:
        dice = np.random.default_rng(seed)
        count, kinds, k = (int(dice.integers(*ends)) for ends in ((0, 40), (1, 12), (1, 8)))
        vectors = random_vectors(kinds, seed=seed)[dice.integers(0, kinds, count)]
        query = random_vectors(1, seed=seed + 1)[0]
        wanted = search_tail(vectors, range(1, count + 1), query, k)
        assert fill(new_index(), vectors).search(query, k) == wanted

    def test_equal_ones_come_by_position(self, new_index: Callable[[], FaissIndex]) -> None:
        row, index = random_vectors(1), new_index()
        index.add([7, 3, 5], np.repeat(row, 3, axis=0))
        assert positions_of(index.search(row[0], 2)) == [3, 5]

    def test_many_equal_ones_crowd_nobody_out(self, new_index: Callable[[], FaissIndex]) -> None:
        first, second = random_vectors(2)
        index = fill(new_index(), np.repeat(first[None], 500, axis=0))
        index.add([501], second[None])
        assert positions_of(index.search(second, 1)) == [501]
        assert len(index.search(first, 501)) == 501

    def test_a_query_without_direction_finds_the_first_positions(
        self, new_index: Callable[[], FaissIndex]
    ) -> None:
        found = fill(new_index(), random_vectors(5)).search(np.zeros(DIMENSION, np.float32), 2)
        assert found == [Match(1, 0.0), Match(2, 0.0)]

    def test_an_empty_index_finds_nothing(
        self, new_index: Callable[[], FaissIndex], read_index: IndexReader, tmp_path: Path
    ) -> None:
        new_index().write(tmp_path / "v")
        assert read_index(tmp_path / "v").search(random_vectors(1)[0], 3) == []

    def test_it_comes_back_from_its_file_and_can_be_added_to(
        self, new_index: Callable[[], FaissIndex], read_index: IndexReader, tmp_path: Path
    ) -> None:
        vectors = random_vectors(30)
        fill(new_index(), vectors[:20]).write(tmp_path / "v")
        reopened = fill(read_index(tmp_path / "v"), vectors[20:], first=21)
        assert reopened.positions() == frozenset(range(1, 31))
        assert reopened.search(vectors[25], 30) == fill(new_index(), vectors).search(
            vectors[25], 30
        )

    def test_a_position_is_added_once(self, new_index: Callable[[], FaissIndex]) -> None:
        index = fill(new_index(), random_vectors(3))
        index.add([2], random_vectors(1, seed=5))
        assert index.positions() == {1, 2, 3}
        assert index.search(random_vectors(3)[1], 1)[0].similarity == pytest.approx(1.0)
