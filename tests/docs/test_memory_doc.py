"""The pages on the memory say what it is: their tables are the code's, their questions asked."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from docs_pages import blocks, rows, sections
from prefect_swarm.errors import Category
from prefect_swarm.memory.embedding import make_embedder
from prefect_swarm.memory.graph import KuzuGraph
from prefect_swarm.memory.graph_rows import EDGES, NODES
from prefect_swarm.memory.learning.advise import LESSONS_CHARS
from prefect_swarm.memory.learning.reward import DEFAULTS
from prefect_swarm.memory.store import Place, Store
from samples import episode, full_episode

PARTS = (
    sections("reference/memory.md")
    | sections("background/memory.md")
    | sections("how-to/forget.md")
)
SQL, CYPHER = PARTS["With plain SQL"], PARTS["With Cypher"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has a memory where the page says, with a failure and what repaired it."""
    failed = full_episode(1, run="r", step="S1", attempt=1, upstream=(), used=())
    repaired = episode(run="r", attempt=2, cause="RETRY", used=(failed.key,))
    reads = episode(run="r", step="S2", upstream=("S1",))
    last = episode(run="r", step="S3", upstream=("S2",))
    make_embedder.cache_clear()
    store = Store(Place(tmp_path / "swarm-home" / "memory"))
    store.log.append([failed, repaired, reads, last])
    assert store.consolidate().status == "built"
    store.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(text: str, language: str, here: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the section's program prints for each of its questions."""
    (program,) = blocks(text, "python")
    found: list[str] = []
    for question in blocks(text, language):
        (here / f"question.{language}").write_text(question, "utf-8")
        exec(compile(program, "docs/reference/memory.md", "exec"), {})  # noqa: S102
        found.append(capsys.readouterr().out)
    return found


def test_the_columns_are_the_tables(here: Path) -> None:
    documented = [
        name.strip().strip("`")
        for line in PARTS["What an episode holds"].splitlines()
        if line.startswith("| `")
        for name in line.split("|")[1].split(",")
    ]
    db = sqlite3.connect(here / "swarm-home" / "memory" / "episodes.sqlite")
    columns = [row[1] for row in db.execute("PRAGMA table_info(episodes)")]
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    db.close()
    assert sorted(documented) == sorted(columns)
    assert {"vectors", "embedders", "meta"} <= tables


def test_the_sql_in_the_page_answers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, gates, followed, used = answers(SQL, "sql", here, capsys)
    assert "chat/text python-engineer worker 3 1.0" in work
    assert gates.startswith(f"ruff {Category.CODE} 1")
    assert followed.strip() == f"{Category.CODE} RETRY 1 1"
    assert used.strip() == "r S1 1 1.0"


def test_the_cypher_in_the_page_answers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repaired, failed, sources = answers(CYPHER, "cypher", here, capsys)
    assert re.search(r" RETRY\s+1 1$", repaired.strip())
    assert failed.strip() == f"code/python python-engineer {Category.CODE} ruff 1"
    assert sources.split("\n")[:3] == ["r S2 S1", "r S3 S1", "r S3 S2"]


def test_the_program_that_forgets_says_what_went(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(here / "swarm-home"))
    store = Store(Place(here / "swarm-home" / "memory"))
    store.remember(episode(9, prompt="Ask Ann"))
    store.close()
    (program,) = blocks(PARTS["Forget"], "python")
    exec(compile(program, "docs/reference/memory.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == "1 () 0 2\n"


def test_the_graphs_tables_are_the_code(here: Path) -> None:
    nodes = {row[0]: row[1] for row in rows(CYPHER) if len(row) == 2}
    assert {
        name: [field.strip().strip("`") for field in text.split(",")]
        for name, text in nodes.items()
    } == {name: list(columns) for name, columns in NODES.items()}
    edges = {row[0]: (row[1], row[2]) for row in rows(CYPHER) if len(row) == 4}
    number = (here / "swarm-home" / "memory" / "current").read_text().split()[0]
    folder = here / "swarm-home" / "memory" / "generations" / number
    graph = KuzuGraph(folder / "graph.kuzu", read_only=True)
    existing = {
        row["name"] for row in graph.query("CALL show_tables() RETURN *") if row["type"] == "REL"
    }
    graph.close()
    assert existing == set(edges)
    assert EDGES.items() <= edges.items()


def test_the_files_are_there(here: Path) -> None:
    folder = here / "swarm-home" / "memory"
    documented = [name.strip("`") for name, *_ in rows(PARTS["Where it lies"])]
    assert documented[0] == "episodes.sqlite"
    assert (folder / documented[0]).is_file()
    assert (folder / "generations").is_dir()
    assert (folder / "current").is_file()


def test_the_figures_are_the_defaults() -> None:
    text = " ".join(PARTS["What a run does with it"].split())
    assert f"The {DEFAULTS.neighbours} attempts" in text
    assert f"fewer than {DEFAULTS.min_samples:g} samples" in text
    assert f"less than {DEFAULTS.min_confidence:.0%}".replace("%", " %") in text
    assert f"up to {DEFAULTS.candidates} memories of similarity {DEFAULTS.near:g}" in text
    assert f"at most {LESSONS_CHARS} characters" in text


def test_every_command_of_the_page_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect_swarm.cli.memory.app import memory_app
    from typer.main import get_command

    existing = set(get_command(memory_app).commands)  # type: ignore[attr-defined]
    text = "\n".join(PARTS.values())
    named = set(re.findall(r"(?:prefect-swarm memory|`memory) ([a-z]+)", text))
    assert named <= existing
