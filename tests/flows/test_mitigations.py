"""Mitigations from earlier runs decide about failures in the next, and are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_runs import plan_of, run
from prefect_swarm.memory.episode import EpisodeKey, Selection
from prefect_swarm.memory.store import Place, open_store
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server")

WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"


def adding(count: int = 1) -> TaskIR:
    """Steps that ask for the same function."""
    output = {"kind": "python", "examples": [{"call": "add(1, 2)", "gives": 3}]}
    asked = "Write a Python function add(a, b)"
    return plan_of(
        *(
            {"id": f"S{n}", "prompt": f"{asked}, take {n}", "output": output, "gates": ["unit"]}
            for n in range(1, count + 1)
        )
    )


def right_after(wrong: int) -> Script:
    """Answers wrongly so often, then rightly, and so on."""
    asked = 0

    def reply(_: str) -> str:
        nonlocal asked
        asked += 1
        return RIGHT if asked % (wrong + 1) == 0 else WRONG

    return Script(reply)


def decided(result: SwarmResult) -> list[str]:
    return [attempt.decision.action for attempt in result.steps[0].attempts if attempt.decision]


def test_what_never_helped_is_passed_over_for_what_did(swarm_home: Path) -> None:
    policy = {"rules": {"LOGIC": ["RETRY", "THINK_HARDER", "RETRY"]}}
    with scripted(right_after(2)):
        before = run(adding(4), policy=policy, max_concurrency=1)
    assert decided(before) == ["RETRY", "THINK_HARDER"]
    with scripted(right_after(1)):
        after = run(adding(), policy=policy)
    assert decided(after) == ["THINK_HARDER"]
    decision = after.steps[0].attempts[0].decision
    assert decision is not None
    assert decision.rule == "LOGIC: THINK_HARDER (by memory)"
    assert "THINK_HARDER repaired 4 of 4 such failures, RETRY repaired 0 of 4" in decision.reason
    assert after.recall is not None
    known = {
        (mitigation.action, mitigation.worked, mitigation.tried)
        for mitigation in after.recall.mitigations
    }
    assert known == {("RETRY", 0, 4), ("THINK_HARDER", 4, 4)}


def test_what_passed_after_such_a_failure_is_told_and_counts_as_used(swarm_home: Path) -> None:
    with scripted(right_after(1)):
        before = run(adding(3), max_concurrency=1)
    with scripted(right_after(1)) as script:
        after = run(adding())
    assert (
        "What had failed the same way passed as “def add(a, b): return a + b”"
        in (script.prompts[1])
    )
    decision = after.steps[0].attempts[0].decision
    assert decision is not None
    assert decision.example is not None
    key = EpisodeKey(before.flow_run_id, "S3", 2)
    assert (decision.example.run, decision.example.step, decision.example.attempt) == key
    log = open_store(Place(swarm_home / "memory")).log
    *_, last = log.select("default", Selection(run=after.flow_run_id))
    assert key in last.episode.used


def test_without_a_memory_the_table_alone_decides(swarm_home: Path) -> None:
    with scripted(right_after(1)):
        run(adding(3), max_concurrency=1)
    with scripted(right_after(1)) as script:
        after = run(adding(), memory=False)
    assert decided(after) == ["RETRY"]
    assert "passed as" not in script.prompts[1]
