"""Killed at any moment of a run whose steps have members: nothing is lost, or asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from killable import Story, killable, killed_often, mostly_exhaustive
from prefect_swarm.plan.task_ir import parse_plan

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

ITEMS = ["a", "b", "c"]
PLAN = parse_plan(
    {
        "objective": "Find out",
        "agents": [
            {"name": "Reader", "system_prompt": "You read closely."},
            {"name": "Skeptic", "system_prompt": "You doubt."},
        ],
        "steps": [
            {
                "id": "S1",
                "agent": "Reader",
                "prompt": "do S1",
                "output": {"kind": "json", "schema": {"type": "array"}},
            },
            {
                "id": "S2",
                "agent": "Reader",
                "prompt": "do S2[{index}]",
                "for_each": {"items": "S1", "at": ""},
                "review": {"agent": "Skeptic"},
            },
            {
                "id": "S3",
                "agent": "Reader",
                "prompt": "do S3[{index}]",
                "for_each": {"items": "S2"},
            },
            {
                "id": "S4",
                "agent": "Reader",
                "prompt": "do S4r{round}",
                "depends_on": ["S3"],
                "repeat": {"until": {"matches": "r3"}},
            },
            {
                "id": "S5",
                "depends_on": ["S4"],
                "plan": {
                    "steps": [
                        {"id": "S1", "agent": "Reader", "prompt": "do S5.S1"},
                        {
                            "id": "S2",
                            "agent": "Reader",
                            "prompt": "do S5.S2",
                            "depends_on": ["S1"],
                            "approval": True,
                        },
                    ]
                },
            },
        ],
        "final_step": "S5",
    }
)
ASKED = [
    "S1",
    *(f"{step}[{n}]" for step in ("S2", "S3") for n in (1, 2, 3)),
    *(f"S4r{n}" for n in (1, 2, 3)),
    "S5.S1",
    "S5.S2",
]


class Members(Story):
    """Items, rounds, an inner plan and reviews; a person approves the last inner step."""

    def next_order(self) -> dict[str, Any] | None:
        replies = {"do S1": json.dumps(ITEMS)}
        if not (runs := self.begun()):
            plan = PLAN.model_dump(mode="json")
            # One at a time: of those that run together a kill costs each its call.
            start = {"do": "start", "plan": plan, "approve": ("steps",), "at_once": 1}
            return {**start, "replies": replies}
        if (result := runs[-1].result()) is not None:
            assert result.status == "completed", self.killed_at
            assert result.answer == "done: do S5.S2", self.killed_at
            done = {step.id for step in result.steps if step.status == "succeeded"}
            assert done == {*ASKED, "S2", "S3", "S4", "S5"}, self.killed_at
            return None
        for question in self.waits():
            order = {"do": "answer", "run": runs[-1].run_id}
            return {**order, "question": question.id, "verdict": "approved"}
        return {"do": "resume", "run": runs[-1].run_id, "replies": replies}

    def check(self) -> None:
        self.check_decisions()
        calls = self.lines("calls")
        reviews = {f"review do S2[{n}]" for n in (1, 2, 3)}
        assert {*calls} <= {f"do {name}" for name in ASKED} | reviews


@pytest.mark.parametrize(
    "moment",
    mostly_exhaustive(
        "calls do S2[2]",
        "calls review do S2[1]",
        "calls do S3[1]",
        "calls do S4r2",
        "calls do S5.S1",
    ),
)
def test_a_member_that_was_asked_for_and_killed_is_all_that_is_asked_again(
    tmp_path: Path, moment: str
) -> None:
    with killable() as runs:
        story = Members(runs, tmp_path / "run", moment)
        story.play()
    assert story.killed_at == moment


@pytest.mark.exhaustive
def test_thirty_kills_lose_no_member_and_ask_none_twice(tmp_path: Path) -> None:
    with killable() as runs:
        killed_often(lambda kill_at, folder: Members(runs, folder, kill_at), tmp_path)
