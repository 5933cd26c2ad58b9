"""Other packages can register gates, and a wrong one is named."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.gates import Finding, Subject, find_gate, gates, pipeline
from prefect_swarm.plan.task_ir import PlanRules, parse_plan


class Loud:
    name = "loud"
    about = "a text in capitals"
    kinds = frozenset({"text"})
    stage = "light"
    timeout_s = 1.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        return Finding(status="passed" if subject.artifact.isupper() else "failed")


class Quiet(Loud):
    name = "lint"


broken = SimpleNamespace(name="Not A Name", stage="light", check=print, version=print)
nothing = 7


@pytest.fixture
def registered(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = EntryPoint("theirs", f"{__name__}:{request.param}", pipeline.GROUP)

    def load(self: EntryPoint) -> object:
        return globals()[self.attr]

    def entry_points(group: str) -> list[EntryPoint]:
        return [point]

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(pipeline, "entry_points", entry_points)
    gates.cache_clear()
    yield
    gates.cache_clear()


@pytest.mark.parametrize("registered", ["Loud"], indirect=True)
def test_a_registered_gate_can_be_planned_and_found(registered: None) -> None:
    assert find_gate("loud").about == "a text in capitals"
    plan = {
        "objective": "Shout",
        "agents": [{"name": "A", "system_prompt": "You shout."}],
        "steps": [{"id": "S1", "agent": "A", "prompt": "Shout it", "gates": ["+loud"]}],
    }
    assert parse_plan(plan, PlanRules(gates=frozenset(gates()))).steps[0].gates == ("+loud",)


@pytest.mark.parametrize(
    ("registered", "why"),
    [
        ("Quiet", "Two gates are named lint"),
        ("broken", "is not a gate"),
        ("nothing", "can't be loaded"),
        ("missing", "can't be loaded"),
    ],
    indirect=["registered"],
)
def test_a_wrong_one_is_named(registered: None, why: str) -> None:
    with pytest.raises(InputError, match=why):
        gates()
