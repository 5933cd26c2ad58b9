"""The task runs of an attempt's gates, and their states."""

from __future__ import annotations

from typing import Any

import pytest
from flow_runs import plan_of, run, task_runs
from prefect.client.schemas.objects import TaskRun, TaskRunResult
from prefect_swarm.store.events import GateEvent
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.result import RunFailedError, SwarmResult
from run_events import kept_events
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

GIVE_UP = Policy.model_validate({"rules": {"FORMAT": ["FAIL"]}})
SHORT: dict[str, Any] = {"min_words": 50, "citations": True}
CODE = "def twice(n):\n  return 2*n\n\n\ndef test_twice():\n  assert twice(2) == 4\n"


def checked(result: SwarmResult) -> dict[str, TaskRun]:
    """The task runs of gates, by what is between the step and the attempt."""
    runs = task_runs(result.flow_run_id, least=2)
    parts = {name.split(", ")[1]: found for name, found in runs.items() if ", " in name}
    return {what: found for what, found in parts.items() if what.startswith("gate")}


def test_light_gates_that_an_artifact_passes_are_no_task_run() -> None:
    gates = ["repetition", "length", "citations?"]
    step = {"id": "S1", "output": {"min_words": 1}, "gates": gates}
    with scripted(Script(lambda _: "A text.")):
        result = run(plan_of(step))
    assert checked(result) == {}
    assert [gate.gate for gate in result.steps[0].attempts[0].gates] == [
        "repetition",
        "length",
        "citations",
    ]


def test_light_gates_that_an_artifact_fails_are_a_failed_task_run() -> None:
    plan = plan_of(
        {"id": "S1"},
        {"id": "S2", "depends_on": ["S1"], "output": SHORT},
    )
    with scripted(Script(lambda _: "Too short.")):
        result = run(plan, policy=GIVE_UP)
    found = task_runs(result.flow_run_id, least=4)["S2, gates, attempt 1"]
    assert found.state is not None
    assert found.state.name == "Failed"
    message = found.state.message or ""
    assert message.startswith("2 of 3 gates failed: length: ")
    assert "; citations: " in message
    assert "gate: length" in found.tags
    events = [each for each in kept_events(result.run_id) if isinstance(each, GateEvent)]
    assert [each.gate for each in events if each.step == "S2"] == [
        "repetition",
        "length",
        "citations",
    ]


def test_each_gate_is_an_event_of_its_own() -> None:
    gates = ["repetition", "length"]
    with scripted(Script(lambda _: "A text.")):
        result = run(plan_of({"id": "S1", "output": {"min_words": 1}, "gates": gates}))
    events = [event for event in kept_events(result.run_id) if isinstance(event, GateEvent)]
    assert [(event.gate, event.status) for event in events] == [
        ("repetition", "passed"),
        ("length", "passed"),
    ]
    assert [gate.gate for gate in result.steps[0].attempts[0].gates] == gates


def test_an_attempt_without_gates_has_no_task_run_for_them() -> None:
    with scripted(Script()):
        result = run(plan_of({"id": "S1", "gates": []}))
    assert checked(result) == {}


def test_a_gate_that_needs_the_sandbox_is_a_task_run_of_its_own() -> None:
    plan = plan_of({"id": "S1", "output": {"kind": "python"}, "gates": ["format", "lint", "unit"]})
    with scripted(Script(lambda _: CODE)):
        result = run(plan)
    found = checked(result)
    assert set(found) == {"gate unit"}
    unit = found["gate unit"]
    made = task_runs(result.flow_run_id)["S1, Reader, attempt 1"]
    assert unit.state is not None
    assert unit.state.message == "unit passed"
    edges = unit.task_inputs["wait_for"]
    assert [edge.id for edge in edges if isinstance(edge, TaskRunResult)] == [made.id]
    assert result.steps[0].task_runs == (str(unit.id),)


def test_a_failed_light_gate_keeps_the_others_from_running() -> None:
    plan = plan_of(
        {
            "id": "S1",
            "output": {"kind": "python"},
            "gates": ["format", "lint", "unit?"],
        }
    )
    with scripted(Script(lambda _: "def f(:")), pytest.raises(RunFailedError) as failure:
        run(plan, policy=GIVE_UP)
    assert failure.value.result is not None
    found = checked(failure.value.result)
    assert set(found) == {"gates"}
    assert found["gates"].state is not None
    assert (found["gates"].state.message or "").endswith("Not asked: lint")
