"""The names of a run's files stand in `store/` alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.store import layout
from prefect_swarm.store.protocol import RecordKind
from source_tree import modules

NAMES = (
    *(f"{name}.json" for name in layout.SINGLE.values()),
    *(layout.ABOUT, layout.ACCOUNTS, layout.EVENTS, layout.AGAIN),
    *(layout.PLAN, layout.RESULT, layout.INPUTS),
)
FOLDERS = (
    *layout.KEYED.values(),
    *("outputs", "steps", "transcripts", "begun", layout.ARTIFACTS, layout.PICTURES),
)
_SPELLED = re.compile(
    rf"(?:^|[/ ])(?:{'|'.join(map(re.escape, NAMES))})|^(?:\W*)(?:{'|'.join(FOLDERS)})/"
)


def texts_of(source: str) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings, those in f-strings among them."""
    tree = ast.parse(source)
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [node.value] if id(node) not in documentation else []


def spelled(source: str) -> list[str]:
    return [text for text in texts_of(source) if _SPELLED.search(text)]


def test_no_module_outside_of_the_store_spells_a_files_name() -> None:
    found = {
        "/".join(module): names
        for module, path in modules().items()
        if module[:1] != ("store",) and (names := spelled(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("kind", "key", "file"),
    [
        ("exploration", "", "explored.json"),
        ("facts", "", "facts.json"),
        ("planning", "", "planned.json"),
        ("recall", "", "recall.json"),
        ("recall", "2", "recall-2.json"),
        ("source_plan", "", "given_plan.json"),
        ("trace", "", "trace.json"),
        ("answer", "S1#1", "answers/S1#1.json"),
        ("form", "plan", "forms/plan.json"),
        ("prestart", "S1.0f", "ahead/S1.0f.json"),
        ("question", "S1#1", "questions/S1#1.json"),
    ],
)
def test_a_record_is_where_stored_runs_have_it(kind: RecordKind, key: str, file: str) -> None:
    assert layout.name_of(kind, key) == file


def test_no_module_outside_of_the_store_takes_its_adapter() -> None:
    adapter = re.compile(r"store\.(folder|layout|lock|run_files)\b|\bRunFolder\b")
    found = [
        "/".join(module)
        for module, path in modules().items()
        if module[:1] != ("store",)
        and any(
            adapter.search(line) and "getLogger" not in line
            for line in path.read_text("utf-8").splitlines()
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    ['run.read("plan.json")', 'x = f"outputs/{step}.txt"', 'y = f"{folder}/events.jsonl"'],
)
def test_a_name_would_be_found(source: str, tmp_path: Path) -> None:
    assert spelled(source)
