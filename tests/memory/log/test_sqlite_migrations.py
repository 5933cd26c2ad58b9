"""Files of every layout there ever was open as today's, and nothing of them is lost."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from prefect_swarm.errors import Category, MemoryStoreError
from prefect_swarm.memory.episode import Episode, EpisodeKey, GateOutcome, Selection
from prefect_swarm.memory.log.sqlite import SqliteLog
from prefect_swarm.memory.log.sqlite_migrations import APPLICATION_ID, LAYOUT

STORED = sorted(Path(__file__).with_name("layouts").glob("*.sql"))
EMBEDDERS = ("llama 1", "other 2")

FIRST = Episode(
    namespace="default",
    run="0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17",
    step="S1",
    attempt=1,
    objective="Tell a child what a « tide » is",
    task_type="doc/text",
    output="text",
    prompt="Explain tides to a child of 7 · in 120 words",
    persona="teacher",
    tier="worker",
    model="embedded",
    revision=0,
    decision="ESCALATE",
    rule="LOGIC/1",
    succeeded=False,
    category=Category.LOGIC,
    error="length: 180 words, and 120 are allowed",
    gates=(
        GateOutcome(gate="form", status="passed"),
        GateOutcome(gate="length", status="failed", category=Category.LOGIC),
    ),
    input_tokens=91,
    output_tokens=240,
    started_at=1790000000.25,
    ended_at=1790000003.5,
    duration_s=3.125,
    reward=-0.6,
    terms={"failure": -0.5, "gates": -0.1},
    downstream=("S2",),
    artifact="ab" * 32,
    excerpt="Tides are when the sea …",
)
SECOND = FIRST.model_copy(
    update={
        "attempt": 2,
        "tier": "coder",
        "cause": "ESCALATE",
        "decision": None,
        "succeeded": True,
        "category": None,
        "error": "",
        "gates": (),
        "reward": 0.85,
        "terms": {"success": 1.0, "escalation": -0.15},
        "used": (EpisodeKey("an-earlier-run", "S3", 1),),
    }
)
OTHERS = FIRST.model_copy(update={"namespace": "other", "prompt": "Sum up", "upstream": ("S1",)})


def stored(script: Path, path: Path) -> Path:
    """A file as that layout's version left it: position 3 of 5 was forgotten, and 5 too."""
    with sqlite3.connect(path) as db:
        db.executescript(script.read_text("utf-8"))
    db.close()
    return path


def schema(path: Path) -> list[tuple[str, ...]]:
    db = sqlite3.connect(path)
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2")
    rows = found.fetchall()
    db.close()
    return rows


def pragma(path: Path, name: str) -> int:
    db = sqlite3.connect(path)
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    db.close()
    return value


def test_there_is_a_stored_file_of_each_layout() -> None:
    assert [int(script.stem) for script in STORED] == list(range(LAYOUT + 1))


@pytest.mark.parametrize("script", STORED, ids=lambda script: script.stem)
class TestEachLayout:
    def test_nothing_is_lost(self, script: Path, quick_folder: Path) -> None:
        log = SqliteLog(stored(script, quick_folder / "log"))
        assert log.since(0) == [(1, FIRST), (2, SECOND), (4, OTHERS)]
        assert log.last_position() == 5
        for embedder, first in zip(EMBEDDERS, (0.6, -1.0), strict=True):
            found = log.vectors(embedder, [FIRST.digest, OTHERS.digest])
            assert found.keys() == {FIRST.digest}
            assert found[FIRST.digest][0] == np.float32(first)

    def test_it_is_written_on(self, script: Path, quick_folder: Path) -> None:
        log = SqliteLog(stored(script, quick_folder / "log"))
        third = FIRST.model_copy(update={"attempt": 3})
        assert log.append([FIRST, third]) == 1
        assert log.since(4) == [(6, third)]
        assert log.forget("other", Selection(everything=True)) == (4,)

    def test_it_is_like_a_new_one(self, script: Path, quick_folder: Path) -> None:
        SqliteLog(stored(script, quick_folder / "log")).close()
        SqliteLog(quick_folder / "new").close()
        assert schema(quick_folder / "log") == schema(quick_folder / "new")
        assert pragma(quick_folder / "log", "user_version") == LAYOUT
        assert pragma(quick_folder / "log", "application_id") == APPLICATION_ID

    def test_8_that_open_it_at_once_migrate_it_once(self, script: Path, quick_folder: Path) -> None:
        path = stored(script, quick_folder / "log")
        start = threading.Barrier(8)
        counts: list[int] = []

        def open_it() -> None:
            start.wait()
            log = SqliteLog(path)
            counts.append(log.count())
            log.close()

        threads = [threading.Thread(target=open_it) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [3] * 8


def test_a_migration_that_fails_changes_nothing(quick_folder: Path) -> None:
    path = stored(STORED[0], quick_folder / "log")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE episodes SET body = '{}' WHERE position = 4")
    db.close()
    before = schema(path)
    with pytest.raises(MemoryStoreError, match="Position 4"):
        SqliteLog(path)
    assert schema(path) == before
    assert pragma(path, "user_version") == 0


def test_a_newer_layout_is_left_alone(quick_folder: Path) -> None:
    path = quick_folder / "log"
    SqliteLog(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(MemoryStoreError, match=f"its layout is {LAYOUT + 1}") as caught:
        SqliteLog(path)
    assert "pip install -U" in caught.value.fix
    assert path.read_bytes() == before
