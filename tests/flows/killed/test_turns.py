"""Killed at any moment of a run in turns: none is asked again that was taken."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from killable import Story, killable, killed_often
from prefect_swarm.flows.stored_plan import stored_turns

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]


def task(prompt: str, *needs: int) -> dict[str, Any]:
    return {"agent": "Reader", "prompt": f"do {prompt}", "depends_on": list(needs)}


TURNS: list[dict[str, Any]] = [
    {
        "create_subagent": [{"name": "Reader", "system_prompt": "You read closely."}],
        "assign_task": [task("S1"), task("S2")],
        "look_after": [1],
    },
    # A mistake: nobody needs it. It is seen in the next turn, and mended.
    {"assign_task": [task("S3", 1)], "look_after": [3]},
    {"assign_task": [task("S4", 2), task("S5", 3)], "cancel_task": [], "look_after": [4]},
    {"assign_task": [task("S6", 4), task("S7", 5)], "look_after": [6, 7]},
    {"finish": {"answer": "All of it."}},
]
STEPS = [f"S{number}" for number in range(1, 8)]


class Directed(Story):
    """An orchestrator of five turns, and a step at a time beside it: a kill costs each its call."""

    lost = 2

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            start = {"do": "start", "objective": "Find out", "at_once": 1}
            return {**start, "turns": TURNS}
        if (result := runs[-1].result()) is not None:
            assert result.status == "completed", (self.killed_at, result.problem)
            assert result.answer == "All of it.", self.killed_at
            assert [step.id for step in result.plan.steps] == STEPS, self.killed_at
            done = [step.id for step in result.steps if step.status == "succeeded"]
            assert done == STEPS, self.killed_at
            return None
        return {"do": "resume", "run": runs[-1].run_id, "turns": TURNS}

    def check(self) -> None:
        turns = {f"turn {number}" for number in range(1, 6)}
        assert {*self.lines("calls")} <= {f"do {name}" for name in STEPS} | turns

    def _finished_calls(self) -> dict[str, int]:
        turns = [turn.number for run in self.begun() for turn in stored_turns(run)]
        calls = Counter(self.lines("calls"))
        asked = {f"turn {number}": calls[f"turn {number}"] for number in turns}
        return super()._finished_calls() | asked


@pytest.mark.parametrize(
    "moment",
    [
        "calls turn 2",
        "calls do S3",
        "calls turn 4",
        pytest.param("calls turn 3", marks=pytest.mark.exhaustive),
        pytest.param("calls turn 5", marks=pytest.mark.exhaustive),
        pytest.param("calls do S6", marks=pytest.mark.exhaustive),
    ],
)
def test_a_turn_that_was_asked_for_and_killed_is_all_that_is_asked_again(
    tmp_path: Path, moment: str
) -> None:
    with killable() as runs:
        story = Directed(runs, tmp_path / "run", moment)
        story.play()
    assert story.killed_at == moment


@pytest.mark.exhaustive
def test_thirty_kills_lose_no_turn_and_ask_none_twice(tmp_path: Path) -> None:
    with killable() as runs:
        killed_often(lambda kill_at, folder: Directed(runs, folder, kill_at), tmp_path)
