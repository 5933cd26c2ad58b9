"""The vector index finds what brute force finds, and comes back from its file as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conformance.vectors import IndexReader, VectorIndexConformance, random_vectors
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.embedding import unit_rows
from prefect_swarm.memory.index import faiss as faiss_index
from prefect_swarm.memory.index.faiss import FaissIndex, search_tail, similarities, top_matches
from prefect_swarm.memory.protocols import Match, Vectors


class TestFaissIndex(VectorIndexConformance):
    @pytest.fixture
    def new_index(self) -> Callable[[], FaissIndex]:
        return lambda: FaissIndex(16)

    @pytest.fixture
    def read_index(self) -> IndexReader:
        return FaissIndex.read


def make_index(vectors: Vectors, first: int = 1) -> FaissIndex:
    index = FaissIndex(vectors.shape[1])
    index.add(range(first, first + len(vectors)), vectors)
    return index


def test_a_similarity_is_the_same_alone_and_among_others() -> None:
    vectors, query = random_vectors(9001, 256), random_vectors(1, 256, seed=1)[0]
    together = similarities(vectors, query)
    assert [similarities(vectors[n : n + 1], query)[0] for n in (0, 8191, 8192, 9000)] == [
        together[n] for n in (0, 8191, 8192, 9000)
    ]


def test_a_file_that_is_cut_is_said(tmp_path: Path) -> None:
    make_index(random_vectors(9)).write(tmp_path / "v")
    path = tmp_path / "v" / "vectors.faiss"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(MemoryStoreError, match="can't be read"):
        FaissIndex.read(tmp_path / "v")


def test_by_codes_nearly_all_of_the_nearest_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faiss_index, "EXACT_UP_TO", 1000)
    rng = np.random.default_rng(3)
    centres = random_vectors(40, 32)
    near = centres[rng.integers(0, 40, 3100)] + 0.15 * rng.standard_normal((3100, 32))
    vectors = unit_rows(near, 32)
    make_index(vectors[:3000]).write(tmp_path / "v")
    index = FaissIndex.read(tmp_path / "v")
    assert not index.is_exact
    found = wanted = 0
    for query in vectors[3000:]:
        exact = {m.position for m in search_tail(vectors[:3000], range(1, 3001), query, 10)}
        found += len(exact & {m.position for m in index.search(query, 10)})
        wanted += 10
    assert found / wanted >= 0.99


def test_codes_can_be_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_index, "EXACT_UP_TO", 500)
    vectors = random_vectors(900)
    make_index(vectors[:600]).write(tmp_path / "a")
    index = FaissIndex.read(tmp_path / "a")
    index.add(range(601, 901), vectors[600:])
    index.write(tmp_path / "b")
    again = FaissIndex.read(tmp_path / "b")
    found = again.search(vectors[800], 1)[0]
    assert (found.position, found.similarity) == (801, pytest.approx(1.0))
    rows = again.vectors()
    assert all(np.array_equal(rows[n + 1], vectors[n]) for n in range(900))


def test_what_two_searches_found_becomes_one_order() -> None:
    first, second = [Match(4, 0.5), Match(9, 0.2)], [Match(2, 0.5), Match(3, 0.1)]
    assert top_matches([*first, *second], 3) == [Match(2, 0.5), Match(4, 0.5), Match(9, 0.2)]
