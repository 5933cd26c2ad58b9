"""Forgotten texts are in no file of the log any more."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from prefect_swarm.errors import ForgettingUnfinishedError
from prefect_swarm.memory.episode import EpisodeKey, Selection
from prefect_swarm.memory.log.sqlite import SqliteLog
from samples import episode, full_episode

SECRET, KEPT = "hush-hush", "may-be-known"


def text_fields(number: int, text: str, size: int) -> dict[str, object]:
    """Every text of an episode contains this one."""
    named = f"{text}-{number}"
    return {
        "run": named, "step": named, "objective": named, "prompt": named + "." * size,
        "persona": named, "model": named, "rule": named, "error": named, "terms": {named: 1.0},
        "upstream": (named,), "downstream": (named,), "used": (EpisodeKey(named, named, 1),),
        "artifact": named, "excerpt": named + "." * size, "task_type": named,
    }  # fmt: skip


def is_in_a_file(folder: Path, text: bytes) -> bool:
    return any(text in file.read_bytes() for file in folder.iterdir())


@pytest.mark.parametrize("size", [0, 500, 2000, 30_000])
def test_no_byte_of_what_was_forgotten_is_left(quick_folder: Path, size: int) -> None:
    log = SqliteLog(quick_folder / "log")
    for number in range(60):
        text = SECRET if number % 3 else KEPT
        log.append([full_episode(number, **text_fields(number, text, size))])
    assert is_in_a_file(quick_folder, SECRET.encode())
    assert len(log.forget("default", Selection(containing=SECRET))) == 40
    assert not is_in_a_file(quick_folder, SECRET.encode())
    assert is_in_a_file(quick_folder, KEPT.encode())
    assert log.count() == 20
    log.close()


def test_no_name_is_left_where_index_pages_were_split(quick_folder: Path) -> None:
    """Deleting alone leaves some of these, secure_delete or not."""
    drawn = random.Random(0)  # noqa: S311
    log = SqliteLog(quick_folder / "log")
    for _ in range(40):
        names = [f"{drawn.random():.12f}-{drawn.choice([SECRET, KEPT])}" for _ in range(50)]
        log.append(episode(run=name, prompt=name) for name in names)
    log.forget("default", Selection(containing=SECRET))
    assert not is_in_a_file(quick_folder, SECRET.encode())
    assert is_in_a_file(quick_folder, KEPT.encode())
    log.close()


def test_no_embedding_of_what_was_forgotten_is_left(quick_folder: Path) -> None:
    log = SqliteLog(quick_folder / "log")
    written = [episode(number, prompt=f"{number}") for number in range(30)]
    log.append(written)
    vectors = np.random.default_rng(1).random((30, 256), np.float32)
    log.keep_vectors("e", {known.digest: vectors[n] for n, known in enumerate(written)})
    log.forget("default", Selection(run="run-7"))
    assert not is_in_a_file(quick_folder, vectors[7].tobytes()[:64])
    assert not is_in_a_file(quick_folder, bytes.fromhex(written[7].digest))
    assert is_in_a_file(quick_folder, vectors[8].tobytes()[:64])
    log.close()


def test_bytes_that_a_reader_keeps_are_said_and_go_with_a_vacuum(quick_folder: Path) -> None:
    log = SqliteLog(quick_folder / "log", patience_s=0.05)
    log.append([episode(1, excerpt=SECRET)])
    reader = sqlite3.connect(quick_folder / "log", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM episodes").fetchone()
    with pytest.raises(
        ForgettingUnfinishedError, match="another process is still reading"
    ) as found:
        log.forget("default", Selection(everything=True))
    with_it = {str(path) for path in quick_folder.iterdir() if SECRET.encode() in path.read_bytes()}
    assert with_it <= set(found.value.files)
    assert log.count() == 0
    reader.execute("COMMIT")
    log.vacuum()
    assert not is_in_a_file(quick_folder, SECRET.encode())
    reader.close()
    log.close()


def test_forgetting_gives_space_back(quick_folder: Path) -> None:
    path = quick_folder / "log"
    log = SqliteLog(path)
    log.append(episode(number, excerpt="x" * 1000) for number in range(500))
    log.vacuum()
    before = path.stat().st_size
    log.forget("default", Selection(everything=True))
    assert path.stat().st_size < before / 5
    log.close()
