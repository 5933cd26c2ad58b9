"""Precedents that a run takes from earlier failures: all there is, indexed or not, of one
namespace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.learning.mitigation import precedents
from prefect_swarm.memory.store import Place, Store
from samples import episode


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(Place(tmp_path / "memory"))
    yield opened
    opened.close()


def repaired_step(
    number: int, by: str = "RETRY", *, worked: bool = True, **more: str
) -> list[Episode]:
    """A step that failed by the same mistake as all of them, and what followed."""
    failure = {"succeeded": False, "category": Category.CODE, "error": "gate lint: F821 'x'"}
    after = {} if worked else failure
    return [
        episode(number, **failure, **more),
        episode(number, attempt=2, cause=by, excerpt=f"x = {number}", **after, **more),
    ]


def test_the_graph_and_what_is_newer_are_added_up(store: Store) -> None:
    for number in range(1, 4):
        store.log.append(repaired_step(number))
    assert store.consolidate().status == "built"
    store.log.append([*repaired_step(4), *repaired_step(5, "SAMPLE", worked=False)])
    gate, exact = precedents(store, "default")
    assert (exact.symptom, exact.action, exact.worked, exact.tried) == (
        "gate lint: F821 '…'",
        "RETRY",
        4,
        4,
    )
    assert (gate.symptom, gate.tried, gate.example) == ("gate lint:", 4, None)
    assert exact.example is not None
    assert (exact.example.run, exact.example.attempt) == ("run-4", 2)
    assert "passed as “x = 4”" in exact.example.text


def test_the_example_is_in_the_graph_where_nothing_is_newer(store: Store) -> None:
    for number in range(1, 4):
        store.log.append(repaired_step(number))
    store.consolidate()
    _, exact = precedents(store, "default")
    assert exact.example is not None
    assert exact.example.run == "run-3"


def test_what_mostly_fails_has_no_example(store: Store) -> None:
    for number in range(1, 5):
        store.log.append(repaired_step(number, worked=number == 1))
    _, exact = precedents(store, "default")
    assert (exact.worked, exact.tried, exact.recurred, exact.example) == (1, 4, 3, None)


def test_nothing_is_taken_from_another_namespace(store: Store) -> None:
    for number in range(1, 4):
        store.log.append(repaired_step(number, namespace="theirs"))
    store.consolidate()
    for number in range(4, 6):
        store.log.append(repaired_step(number, namespace="theirs"))
    assert precedents(store, "default") == ()
    assert len(precedents(store, "theirs")) == 2
