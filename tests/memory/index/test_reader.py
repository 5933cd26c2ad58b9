"""A search finds everything that was appended before it, and nothing of another namespace."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from dict_log import DictLog, episode
from hash_embedder import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from prefect_swarm.memory.episode import Episode, Selection
from prefect_swarm.memory.graph import provenance
from prefect_swarm.memory.index.faiss import similarities, top_matches
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.index.reader import Reader
from prefect_swarm.memory.protocols import Match

EMBEDDER = HashEmbedder()


def episodes(count: int, first: int = 0, namespace: str = "default") -> list[Episode]:
    return [
        episode(f"r{n}", prompt=f"Write about {n} seas", namespace=namespace)
        for n in range(first, first + count)
    ]


def brute_force(log: DictLog, namespace: str, text: str, k: int) -> list[Match]:
    """Over all episodes of the namespace, from their prompts."""
    entries = [e for e in log.since(0, 10**6) if e.episode.namespace == namespace]
    rows = EMBEDDER.embed([entry.episode.prompt for entry in entries])
    found = similarities(rows, EMBEDDER.embed([text])[0])
    return top_matches(
        (Match(e.position, float(s)) for e, s in zip(entries, found, strict=True)), k
    )


_steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"), st.sampled_from(["a", "b"]), st.text("abc ", min_size=1, max_size=6)
        ),
        st.just(("consolidate",)),
        st.just(("search",)),
        st.tuples(st.just("forget"), st.integers(1, 12)),
    ),
    max_size=14,
)


@settings(max_examples=12)
@given(_steps, st.text("abc ", min_size=1, max_size=6), st.integers(1, 6))
def test_generation_and_tail_find_what_brute_force_finds(
    steps: list[tuple[object, ...]], text: str, k: int
) -> None:
    log = DictLog()
    with tempfile.TemporaryDirectory() as name:
        reader = Reader(log, Path(name), EMBEDDER)
        for n, step in enumerate([*steps, ("search",)]):
            match step:
                case ("append", str(space), str(prompt)):
                    log.append([episode(f"r{n}", prompt=prompt, namespace=space)])
                case ("forget", int(run)):
                    log.forget("a", Selection(run=f"r{run}"))
                case ("consolidate",):
                    consolidate(log, Path(name), EMBEDDER)
                case _:
                    for space in ("a", "b"):
                        found = reader.search(space, text, k)
                        assert found == brute_force(log, space, text, k)
        reader.close()


def test_what_was_appended_a_moment_ago_is_found(tmp_path: Path) -> None:
    log = DictLog(episodes(5))
    consolidate(log, tmp_path, EMBEDDER)
    reader = Reader(log, tmp_path, EMBEDDER)
    reader.search("default", "x", 1)
    log.append([episode("new", prompt="Bake a cake")])
    assert reader.search("default", "Bake a cake", 1)[0].position == 6
    assert (reader.status().indexed, reader.status().tail) == (5, 1)


def test_it_moves_to_the_next_generation(tmp_path: Path) -> None:
    log = DictLog(episodes(5))
    consolidate(log, tmp_path, EMBEDDER)
    reader = Reader(log, tmp_path, EMBEDDER)
    assert reader.status().generation == 1
    log.append(episodes(3, first=5))
    consolidate(log, tmp_path, EMBEDDER)
    assert reader.status()[:3] == (2, 8, 0)


def test_another_namespace_is_never_seen(tmp_path: Path) -> None:
    log = DictLog([*episodes(3), *episodes(3, namespace="theirs")])
    consolidate(log, tmp_path, EMBEDDER)
    log.append([*episodes(2, first=3), *episodes(2, first=3, namespace="theirs")])
    reader = Reader(log, tmp_path, EMBEDDER)
    found = {match.position for match in reader.search("theirs", "Write about 1 seas", 99)}
    assert found == {4, 5, 6, 9, 10}
    assert reader.search("nobody", "Write", 5) == []


def test_what_was_forgotten_is_not_found_before_the_next_consolidation(tmp_path: Path) -> None:
    log = DictLog(episodes(5))
    consolidate(log, tmp_path, EMBEDDER)
    reader = Reader(log, tmp_path, EMBEDDER)
    assert reader.graph() is not None
    log.forget("default", Selection(run="r2"))
    assert {match.position for match in reader.search("default", "seas", 9)} == {1, 2, 4, 5}
    assert reader.graph() is None
    assert "forgotten" in reader.status().void
    consolidate(log, tmp_path, EMBEDDER)
    assert reader.status()[:4] == (2, 4, 0, "")


def test_another_embedders_vectors_are_not_mixed_in(tmp_path: Path) -> None:
    log = DictLog(episodes(5))
    consolidate(log, tmp_path, EMBEDDER)
    reader = Reader(log, tmp_path, HashEmbedder("hash/2/24"))
    assert len(reader.search("default", "seas", 9)) == 5
    assert reader.status().void == "its vectors are hash/1/24's, not hash/2/24's"
    assert reader.status().tail == 5


def test_another_logs_generation_is_not_used(tmp_path: Path) -> None:
    consolidate(DictLog(episodes(5)), tmp_path, EMBEDDER)
    reader = Reader(DictLog(episodes(9, first=20)), tmp_path, EMBEDDER)
    assert "another log" in reader.status().void
    assert len(reader.search("default", "seas", 99)) == 9


def test_without_a_generation_everything_is_searched(tmp_path: Path) -> None:
    reader = Reader(DictLog(episodes(5)), tmp_path, EMBEDDER)
    assert len(reader.search("default", "seas", 9)) == 5
    assert reader.graph() is None
    assert reader.status() == (None, 0, 5, "", None)


def test_the_graph_is_the_generations(tmp_path: Path) -> None:
    log = DictLog([episode(), episode(step="S2", upstream=("S1",))])
    consolidate(log, tmp_path, EMBEDDER)
    reader = Reader(log, tmp_path, EMBEDDER)
    graph = reader.graph()
    assert graph is not None
    assert [source.step for source in provenance(graph, "default", "r1", "S2")] == ["S1"]
    assert reader.graph() is graph
    reader.close()


@pytest.mark.parametrize("k", [0, -1])
def test_asked_for_none_it_finds_none(k: int, tmp_path: Path) -> None:
    log = DictLog(episodes(3))
    consolidate(log, tmp_path, EMBEDDER)
    assert Reader(log, tmp_path, EMBEDDER).search("default", "seas", k) == []
