"""The bench of a planner that is shown earlier plans."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def feeding(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHES / "memory")
    return import_module("feeding")


def shape(feeding: Any, topic: Any, facts: str) -> list[tuple[str, ...]]:
    plan = asyncio.run(feeding.planned(topic, facts))
    return [step.depends_on for step in plan.steps]


def test_the_script_writes_a_chain_unless_it_is_shown_a_plan_that_was_completed(
    feeding: Any,
) -> None:
    topic = import_module("similar").TOPICS[6]
    steps = "\n  S1 “a”: “for” (1.0 s)\n  S2 “a”: “against” (1.0 s)\n  S3 “a”: “verdict” <- S1, S2"
    shown = f"facts:\n- Objective “x” (run “r”): completed, makespan 2.0 s{steps} (1.0 s)"
    assert shape(feeding, topic, "") == [(), ("S1",), ("S2",)]
    assert shape(feeding, topic, shown) == [(), (), ("S1", "S2")]
    assert shape(feeding, topic, shown.replace("completed", "failed")) == [(), ("S1",), ("S2",)]
