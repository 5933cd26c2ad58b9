"""Forgetting beside a process that reads: what keeps the word is named, and the advice works."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from memory_commands import FAILED, WORD, fill, invent_persona, memory_json
from prefect_swarm.memory.index.generation_store import consolidation_lock
from prefect_swarm.memory.log.sqlite import SqliteLog
from prefect_swarm.memory.store import Place, Store

from ..conftest import Invoke

FORGET = ("forget", "--containing", WORD, "--yes")
# Reads the log, the personas and a generation with its graph, until its input ends.
READER = """
import sqlite3, sys
from pathlib import Path
from prefect_swarm.memory.index.generation import open_current
folder = Path(sys.argv[1])
held = []
for name, table in (("episodes", "episodes"), ("personas", "changes")):
    db = sqlite3.connect(folder / f"{name}.sqlite", isolation_level=None)
    db.execute("BEGIN")
    db.execute(f"SELECT * FROM {table}").fetchone()
    held.append(db)
generation = open_current(folder)
held.append((generation, generation.graph()))
print("reads", flush=True)
sys.stdin.read()
"""


@contextmanager
def reader(memory: Path) -> Generator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(memory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reads\n"
        yield
        process.communicate()


def with_the_word(memory: Path) -> set[str]:
    files = (path for path in memory.rglob("*") if path.is_file())
    return {str(path) for path in files if WORD.encode() in path.read_bytes()}


def is_named(file: str, text: str) -> bool:
    """Whether a file or a folder that it is in is named."""
    return any(f"{path}," in text or f"{path}." in text for path in (file, *Path(file).parents))


@pytest.fixture
def memory(filled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory with the word in its log, graph, beliefs and personas."""
    monkeypatch.setattr("prefect_swarm.memory.log.sqlite._BUSY_TIMEOUT_S", 0.05)
    fill(filled, FAILED.model_copy(update={"run": "z", "error": f"there is no {WORD} here"}))
    invent_persona(filled).close()
    store = Store(Place(filled / "memory"))
    store.keep_beliefs("default")
    store.close()
    memory_json(invoke, "rebuild")
    return filled / "memory"


def test_every_file_that_keeps_the_word_is_named_and_vacuum_finishes_it(
    memory: Path, invoke: Invoke
) -> None:
    assert len(with_the_word(memory)) >= 3
    with reader(memory):
        result = invoke("memory", *FORGET)
        left = with_the_word(memory)
        assert result.exit_code == 1
        assert left
        assert [file for file in left if not is_named(file, result.stderr)] == []
        # What no process can keep is gone at once.
        assert not [file for file in left if "generations" in file or "beliefs" in file]
        assert memory_json(invoke, "search", WORD)["matches"]
        assert "prefect-swarm memory vacuum" in result.stderr
        again = invoke("memory", "vacuum")
        assert again.exit_code == 1
        assert [file for file in with_the_word(memory) if not is_named(file, again.stderr)] == []
    assert invoke("memory", "vacuum").exit_code == 0
    assert with_the_word(memory) == set()
    assert memory_json(invoke, "stats")["unfinished_forgetting"] == []


def test_the_same_call_finishes_it_too(memory: Path, invoke: Invoke) -> None:
    with reader(memory):
        assert invoke("memory", *FORGET).exit_code == 1
    assert memory_json(invoke, *FORGET)["forgotten"] == 0
    assert with_the_word(memory) == set()
    assert memory_json(invoke, "stats")["index"]["void"] is None


def test_stats_and_doctor_show_what_is_left_until_it_is_finished(
    memory: Path, invoke: Invoke
) -> None:
    with reader(memory):
        invoke("memory", *FORGET)
    named = memory_json(invoke, "stats")["unfinished_forgetting"]
    assert with_the_word(memory) <= set(named)
    text = invoke("memory", "stats").stdout
    assert "what was forgotten may still be in" in text
    assert "prefect-swarm memory vacuum" in text
    checks = json.loads(invoke("doctor", "--json").stdout)["checks"]
    (found,) = [check for check in checks if check["name"] == "memory"]
    assert (found["status"], "memory vacuum" in found["fix"]) == ("warn", True)
    assert invoke("memory", "vacuum").exit_code == 0
    assert "may still be in" not in invoke("memory", "stats").stdout


def test_an_index_that_another_process_builds_is_named_and_goes_with_a_vacuum(
    memory: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.memory.store._PATIENCE_S", 0.0)
    with consolidation_lock(memory):
        result = invoke("memory", *FORGET)
        left = with_the_word(memory)
        assert result.exit_code == 1
        assert any("graph.kuzu" in file for file in left)
        assert [file for file in left if not is_named(file, result.stderr)] == []
        assert memory_json(invoke, "stats")["unfinished_forgetting"]
    assert invoke("memory", "vacuum").exit_code == 0
    assert with_the_word(memory) == set()
    assert memory_json(invoke, "stats")["index"]["generation"] is None
    memory_json(invoke, "rebuild")


def test_a_forgetting_that_was_killed_is_not_taken_for_a_finished_one(
    memory: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SqliteLog, "forget", killed)
        assert invoke("memory", *FORGET).exit_code == 130
    text = invoke("memory", "stats").stdout
    assert "A forgetting was ended in its middle" in text
    assert "Make the same call again" in text
    # A vacuum doesn't know what was to be forgotten.
    assert "Make the same call again" in invoke("memory", "vacuum").stderr
    assert memory_json(invoke, *FORGET)["forgotten"] == 2
    assert with_the_word(memory) == set()
    assert memory_json(invoke, "stats")["unfinished_forgetting"] == []
