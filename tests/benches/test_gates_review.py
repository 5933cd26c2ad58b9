"""The review of failing artifacts: how they are drawn, and what its figures rest on."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from docs_pages import sections
from prefect_swarm.errors import Category

GATES = Path(__file__).parents[2] / "benches" / "gates"


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(GATES)


def review() -> Any:
    return import_module("review")


def artifact(name: str, kind: str, **fields: Any) -> Any:
    return review().Reviewed(id=name, kind=kind, artifact=name, gate_message="", **fields)


def some(counts: dict[str, int]) -> list[Any]:
    return [artifact(f"{kind}{n}", kind) for kind, count in counts.items() for n in range(count)]


def test_kinds_are_drawn_evenly_as_far_as_there_are_so_many() -> None:
    pool = some({"python": 20, "shell": 20, "json": 2, "text": 20})
    drawn = review().drawn(pool, 14, 0)
    assert Counter(review.kind for review in drawn) == {
        "python": 4,
        "shell": 4,
        "json": 2,
        "text": 4,
    }


def test_a_draw_can_be_repeated() -> None:
    pool = some({"python": 9, "text": 9})
    assert review().drawn(pool, 6, 1) == review().drawn(pool, 6, 1)
    assert review().drawn(pool, 6, 1) != review().drawn(pool, 6, 2)


def test_each_artifact_of_a_run_without_gates_is_drawn_from_once() -> None:
    tally = import_module("tally")
    outcomes = [
        tally.Outcome(id=name, kind="text", accepted=True, artifact=text)
        for name, text in (("a", "x"), ("a", "x"), ("a", "y"), ("b", ""), ("c", "z"))
    ]
    measured = [
        tally.Measured(configuration=name, outcomes=outcomes[n:], tokens=0, seconds=0.0)
        for n, name in enumerate(("single", "gated"))
    ]
    report = tally.BenchReport(machine="m", model="demo", measured=measured)
    found = review().candidates([report, report], without=["c"])
    assert [(review.id, review.artifact) for review in found] == [("a", "x"), ("a", "y")]


def test_what_is_told_is_the_share_that_agree_and_who_does_not() -> None:
    both = {"hand": Category.CODE, "rule": Category.CODE}
    text = review().agreement(
        [artifact("a", "text", **both), artifact("b", "text", **both | {"rule": Category.LOGIC})]
    )
    assert text.splitlines()[0] == "1 of 2 agree: 50%"
    assert text.splitlines()[1].startswith("b: rule LOGIC, hand CODE.")


def test_the_page_has_the_figure_of_what_is_kept() -> None:
    kept = review().load_review()
    steps = {asked.id: asked.kind for asked in import_module("steps").load_steps()}
    assert all(steps[review.id] == review.kind for review in kept)
    assert None not in {category for review in kept for category in (review.hand, review.rule)}
    figures = re.search(r"(\d+) of (\d+) agree", sections("failures.md")["Rules against readers"])
    assert figures is not None
    same = sum(review.hand == review.rule for review in kept)
    assert (int(figures[1]), int(figures[2])) == (same, len(kept))


@pytest.mark.slow
def test_what_rules_and_the_reader_agreed_on_is_still_so() -> None:
    kept = review().load_review()
    steps = {asked.id: asked for asked in import_module("steps").load_steps()}
    now = asyncio.run(review().judged(kept, steps))
    assert [
        review.id
        for was, review in zip(kept, now, strict=True)
        if was.rule == was.hand != review.rule
    ] == []
