"""A generation is what the log says, however it came about."""

from __future__ import annotations

import ctypes
import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest
from dict_log import DictLog, episode
from generations import contents, open_newest
from hash_embedder import HashEmbedder
from prefect_swarm.errors import Category, MemoryStoreError
from prefect_swarm.memory.episode import Episode, LogEntry, Selection
from prefect_swarm.memory.index.generation_store import consolidate

EMBEDDER = HashEmbedder()


def story(run: int, namespace: str = "default") -> list[Episode]:
    """A step that fails twice and is repaired, and one that reads it."""
    fields = {"namespace": namespace}
    bad = {"category": Category.CODE, "error": f"gate lint: line {run}: F401"}
    return [
        episode(f"r{run}", "S1", 1, **fields, **bad),
        episode(f"r{run}", "S1", 2, cause="RETRY", **fields, **bad),
        episode(f"r{run}", "S1", 3, cause="ESCALATE", tier="coder", **fields),
        episode(f"r{run}", "S2", 1, upstream=("S1",), **fields),
    ]


@pytest.fixture
def log() -> DictLog:
    return DictLog([*story(1), *story(2, "theirs")])


def full_contents(log: DictLog, folder: Path) -> dict[str, object]:
    consolidate(log, folder, EMBEDDER, full=True)
    return contents(folder)


def test_it_has_every_episode_of_every_namespace(log: DictLog, tmp_path: Path) -> None:
    done = consolidate(log, tmp_path, EMBEDDER)
    assert (done.status, done.generation, done.full, done.added) == ("built", 1, True, 8)
    vectors = contents(tmp_path)["vectors"]
    assert {name: list(positions) for name, positions in vectors.items()} == {
        "default": [1, 2, 3, 4],
        "theirs": [5, 6, 7, 8],
    }


def test_nothing_new_changes_nothing(log: DictLog, tmp_path: Path) -> None:
    consolidate(log, tmp_path, EMBEDDER)
    done = consolidate(log, tmp_path, EMBEDDER)
    assert (done.status, done.generation, done.episodes) == ("unchanged", 1, 8)


def test_an_empty_log_has_a_generation_too(tmp_path: Path) -> None:
    assert consolidate(DictLog(), tmp_path, EMBEDDER).status == "built"
    assert contents(tmp_path)["episodes"] == 0


@pytest.mark.parametrize(
    "portion", [pytest.param(1, marks=[pytest.mark.slow, pytest.mark.exhaustive]), 3]
)
def test_in_portions_it_equals_one_from_scratch(portion: int, log: DictLog, tmp_path: Path) -> None:
    more = [*story(3), *story(4, "others"), *story(2)]
    for start in range(0, len(more), portion):
        done = consolidate(log, tmp_path / "a", EMBEDDER)
        log.append(more[start : start + portion])
    done = consolidate(log, tmp_path / "a", EMBEDDER)
    assert not done.full
    assert contents(tmp_path / "a") == full_contents(log, tmp_path / "b")


def test_texts_are_embedded_once(tmp_path: Path) -> None:
    embedder, log = HashEmbedder(), DictLog(story(1))
    assert consolidate(log, tmp_path, embedder).embedded == 2
    assert consolidate(log, tmp_path, embedder, full=True).embedded == 0
    assert embedder.embedded == 2


def test_another_embedder_builds_again(log: DictLog, tmp_path: Path) -> None:
    consolidate(log, tmp_path, EMBEDDER)
    done = consolidate(log, tmp_path, HashEmbedder("hash/2/24"))
    assert (done.status, done.full, done.embedded) == ("built", True, 4)
    assert open_newest(tmp_path).manifest.embedder == "hash/2/24"


def test_what_was_forgotten_is_in_no_generation(log: DictLog, tmp_path: Path) -> None:
    log.append([episode("secret", "S9", persona="Hidden", category="CODE", error="seen")])
    consolidate(log, tmp_path, EMBEDDER)
    consolidate(log, tmp_path, EMBEDDER, full=True)
    reading = open_newest(tmp_path)
    log.forget("default", Selection(run="secret"))
    done = consolidate(log, tmp_path, EMBEDDER)
    assert (done.full, done.episodes) == (True, 8)
    left = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"secret" not in left
    assert b"Hidden" not in left
    reading.close()


@pytest.fixture
def fill_pattern() -> Iterator[bytes]:
    """What all memory of this process that is allocated and not yet written is made to hold."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        pytest.skip("only glibc has a mallopt")
    perturb = -6
    mallopt(perturb, 0xFF ^ ord("Z"))
    yield b"Z" * 64
    mallopt(perturb, 0)


def test_what_was_in_the_memory_of_the_process_is_in_no_generation(
    log: DictLog, tmp_path: Path, fill_pattern: bytes
) -> None:
    consolidate(log, tmp_path, EMBEDDER)
    log.append(story(3))
    consolidate(log, tmp_path, EMBEDDER)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"graph.kuzu", "vectors.faiss"}
    assert [path for path in files if fill_pattern in path.read_bytes()] == []


def test_another_log_is_noticed(log: DictLog, tmp_path: Path) -> None:
    consolidate(log, tmp_path, EMBEDDER)
    other = DictLog([*story(7), *story(8), *story(9)])
    assert consolidate(other, tmp_path, EMBEDDER).full
    assert contents(tmp_path) == full_contents(other, tmp_path / "b")


def test_something_forgotten_meanwhile_is_built_again(
    log: DictLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = log.since

    def read_and_forget(position: int, limit: int = 1000) -> list[LogEntry]:
        monkeypatch.setattr(log, "since", since)
        found = since(position, limit)
        log.forget("default", Selection(run="r1"))
        return found

    monkeypatch.setattr(log, "since", read_and_forget)
    assert consolidate(log, tmp_path, EMBEDDER).episodes == 4
    assert contents(tmp_path) == full_contents(log, tmp_path / "b")


def test_a_second_one_leaves_at_once(log: DictLog, tmp_path: Path) -> None:
    with (tmp_path / "consolidate.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert consolidate(log, tmp_path, EMBEDDER).status == "busy"
    assert consolidate(log, tmp_path, EMBEDDER).status == "built"


def numbers(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "generations").iterdir())


def test_the_last_two_stay_and_those_that_are_read(log: DictLog, tmp_path: Path) -> None:
    consolidate(log, tmp_path, EMBEDDER)
    reading = open_newest(tmp_path)
    for _ in range(3):
        consolidate(log, tmp_path, EMBEDDER, full=True)
    assert numbers(tmp_path) == ["1", "3", "4"]
    reading.close()
    consolidate(log, tmp_path, EMBEDDER, full=True)
    assert numbers(tmp_path) == ["4", "5"]


def test_what_a_killed_one_left_goes(log: DictLog, tmp_path: Path) -> None:
    for name in (".new-x", ".gone-3"):
        (tmp_path / "generations" / name).mkdir(parents=True)
    (tmp_path / ".current-x").write_text("1")
    consolidate(log, tmp_path, EMBEDDER)
    assert numbers(tmp_path) == ["1"]
    assert not (tmp_path / ".current-x").exists()


def test_where_nothing_can_be_written_that_is_said(log: DictLog, tmp_path: Path) -> None:
    (tmp_path / "generations").write_text("a file in the way")
    with pytest.raises(MemoryStoreError, match="can't be written"):
        consolidate(log, tmp_path, EMBEDDER)
