"""Gates as a task run: heard one by one, bounded, kept under what they looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from gate_checks import subject
from hypothesis import given
from hypothesis import strategies as st
from prefect import flow
from prefect.client.schemas.objects import State
from prefect_swarm.flows.prefect_io.task_runs import run_task
from prefect_swarm.gates import Finding, GateResult, Subject
from prefect_swarm.tasks.context import task_context
from prefect_swarm.tasks.gates import gates
from prefect_swarm.tasks.inspection import Inspection


class Held:
    """A light gate that ends once it may, and counts how many of its kind are under way."""

    about, kinds, timeout_s = "anything", frozenset({"text"}), 60.0
    under_way, most, release, pair = 0, 0, asyncio.Event(), asyncio.Event()

    def __init__(self, name: str, stage: str = "light") -> None:
        self.name, self.stage = name, stage

    def version(self) -> str:
        return ""

    async def check(self, asked: Subject) -> Finding:
        Held.under_way += 1
        Held.most = max(Held.most, Held.under_way)
        if "wait" in asked.artifact:
            await Held.release.wait()
        if Held.under_way == 2:
            Held.pair.set()
        if "pairs" in asked.artifact:
            await Held.pair.wait()
        Held.under_way -= 1
        return Finding(status="failed" if "fails" in asked.artifact else "passed")


NAMES = ("one-of", "two-of", "three-of")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {name: Held(name) for name in NAMES}
    monkeypatch.setattr("prefect_swarm.gates.pipeline.find_gate", registry.__getitem__)
    Held.under_way, Held.most = 0, 0
    Held.release, Held.pair = asyncio.Event(), asyncio.Event()


def inspected(
    *artifacts: str, names: Sequence[str] = NAMES, at_once: int = 2, name: str = ""
) -> tuple[list[GateResult], list[State[Any]]]:
    """Have artifacts inspected one after another; return what was heard, and the states."""
    heard: list[GateResult] = []

    @flow
    async def inspect() -> list[State[Any]]:
        states: list[State[Any]] = []
        for artifact in artifacts:
            asked = Inspection.of(name or str(id(heard)), names, subject(artifact))
            light = asyncio.Semaphore(at_once)
            with task_context(on_verdict=heard.append, light=light):
                states.append((await run_task(gates, asked, name="gates"))[0])
        kept.extend(states)
        return []

    kept: list[State[Any]] = []
    asyncio.run(inspect())
    return heard, kept


@given(st.text(), st.text(), st.lists(st.sampled_from(NAMES), max_size=2))
def test_what_is_checked_decides_the_key(left: str, right: str, names: list[str]) -> None:
    def key(artifact: str, *gate_names: str) -> str:
        return Inspection.of("a", gate_names, subject(artifact)).key

    assert key(left, *names) == key(left, *names)
    assert (key(left, *names) == key(right, *names)) == (left == right)
    assert key(left, *names) != key(left, *names, "other")


def test_half_of_a_character_has_a_key_too() -> None:
    assert Inspection.of("a", NAMES, Subject(artifact="\ud800")).key.startswith("a.gates.")


@pytest.mark.usefixtures("prefect_server", "swarm_home", "held")
def test_light_gates_run_at_once_up_to_the_limit() -> None:
    heard, (state,) = inspected("in pairs", at_once=2)
    assert sorted(result.gate for result in heard) == sorted(NAMES)
    assert Held.most == 2
    assert (state.name, state.message) == ("Completed", "3 of 3 gates passed")


@pytest.mark.usefixtures("prefect_server", "swarm_home", "held")
def test_what_was_inspected_before_is_not_inspected_again() -> None:
    heard, (first, again, other) = inspected("a text", "a text", "another text")
    assert [first.name, again.name, other.name] == ["Completed", "Cached", "Completed"]
    assert len(heard) == 2 * len(NAMES)


@pytest.mark.usefixtures("prefect_server", "swarm_home", "held")
def test_what_failed_before_is_not_inspected_again() -> None:
    heard, (first, again) = inspected("it fails", "it fails", names=("one-of",))
    assert [first.name, again.name] == ["Failed", "Cached"]
    assert [result.status for result in heard] == ["failed"]


@pytest.mark.usefixtures("prefect_server", "swarm_home", "held")
def test_a_verdict_is_heard_while_other_gates_are_under_way() -> None:
    heard: list[str] = []

    def handle(result: GateResult) -> None:
        heard.append(result.gate)
        if result.gate == "quick":
            Held.release.set()  # The other gate ends only once this has been heard.

    class Quick(Held):
        async def check(self, asked: Subject) -> Finding:
            return Finding(status="passed")

    @flow
    async def inspect() -> str | None:
        asked = Inspection.of("live", ("slow", "quick"), subject("wait"))
        with task_context(on_verdict=handle, light=asyncio.Semaphore(2)):
            return (await run_task(gates, asked, name="gates"))[0].name

    registry = {"slow": Held("slow"), "quick": Quick("quick")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prefect_swarm.gates.pipeline.find_gate", registry.__getitem__)
        assert asyncio.run(asyncio.wait_for(inspect(), 60)) == "Completed"
    assert heard == ["quick", "slow"]


@pytest.mark.usefixtures("prefect_server", "swarm_home", "held")
def test_a_race_that_is_won_ends_the_gates() -> None:
    won = asyncio.Event()
    with task_context(won=won):
        won.set()
        heard, (state,) = inspected("wait", name="won")
    assert heard == []
    assert state.is_cancelled()
