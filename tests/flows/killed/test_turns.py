"""Killed at any moment of a run in turns: none is asked again that was taken."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from killable import Story, killable, killed_often, mostly_exhaustive
from prefect_swarm.flows.plan_changes import current_plan
from prefect_swarm.flows.stored_plan import stored_turns
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.filed_run import FiledRun

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]


def task(prompt: str, *needs: int) -> dict[str, Any]:
    return {"agent": "Reader", "prompt": f"do {prompt}", "depends_on": list(needs)}


NO_PAGE = "The ledger has four pages: there is no page 9."
TURNS: list[dict[str, Any]] = [
    {
        "create_subagent": [{"name": "Reader", "system_prompt": "You read closely."}],
        "assign_task": [task("S1"), task("S2")],
        "look_after": [1],
    },
    # A mistake: the index that it reads is of another ledger, so S3 is sent to a page that isn't
    # there.
    {"sees": "done: do S1", "assign_task": [task("S3", 1)], "look_after": [3]},
    # It sees what came of that, and sends two others.
    {
        "sees": NO_PAGE,
        "assign_task": [task("S4", 1), task("S5", 2)],
        "look_after": [4],
    },
    {
        "sees": "done: do S4",
        "assign_task": [task("S6", 4)],
        "look_after": [6],
        "edited": {"assign_task": [task("S6", 4), task("S7", 5)], "look_after": [6, 7]},
    },
    {"sees": "done: do S6", "finish": {"answer": "All of it."}},
]


class Directed(Story):
    """An orchestrator of five turns, and a step at a time beside it: a kill costs each its call."""

    lost = 2
    turns: ClassVar[list[dict[str, Any]]] = TURNS
    steps: ClassVar[int] = 6
    prompts: ClassVar[dict[str, str]] = {}

    def next_order(self) -> dict[str, Any] | None:
        script = {"turns": self.turns, "replies": {"do S3": NO_PAGE}}
        if not (runs := self.begun()):
            return {"do": "start", "objective": "Find out", "at_once": 1, **script, **self.asks()}
        run = runs[-1]
        if (result := run.result()) is None:
            return self.decide(run) or {"do": "resume", "run": run.run_id, **script}
        assert result.status == "completed", (self.killed_at, result.problem)
        assert result.answer == "All of it.", self.killed_at
        names = [f"S{number}" for number in range(1, self.steps + 1)]
        expected = {name: self.prompts.get(name, f"do {name}") for name in names}
        assert {step.id: step.prompt for step in result.plan.steps} == expected, self.killed_at
        done = [step.id for step in result.steps if step.status == "succeeded"]
        assert done == names, self.killed_at
        return None

    def asks(self) -> dict[str, Any]:
        return {}

    def decide(self, run: FiledRun) -> dict[str, Any] | None:
        del run

    def check(self) -> None:
        turns = {f"turn {number}" for number in range(1, 6)}
        assert {*self.lines("calls")} <= {f"do S{n}" for n in range(1, 7)} | turns

    def _finished_calls(self) -> dict[str, int]:
        turns = [turn.number for run in self.begun() for turn in stored_turns(run)]
        calls = Counter(self.lines("calls"))
        asked = {f"turn {number}": calls[f"turn {number}"] for number in turns}
        return super()._finished_calls() | asked


class Approved(Directed):
    """The same with a person who approves each turn, but edits a step while the fourth waits."""

    steps = 7
    prompts: ClassVar[dict[str, str]] = {"S5": "do S5 otherwise"}

    def asks(self) -> dict[str, Any]:
        return {"approve": ("turns",)}

    def decide(self, run: FiledRun) -> dict[str, Any] | None:
        for question in self.waits():
            if question.id == "turn.4" and not Approvals(run).edits():
                plan = current_plan(run)
                other = plan.steps[4].model_copy(update={"prompt": self.prompts["S5"]})
                edited = plan.model_copy(update={"steps": (*plan.steps[:4], other)})
                return {"do": "edit", "run": run.run_id, "plan": edited.model_dump(mode="json")}
            order = {"do": "answer", "run": run.run_id, "question": question.id}
            return {**order, "verdict": "approved"}
        return None

    def check(self) -> None:
        calls = self.lines("calls")
        # Nobody has to approve a turn twice.
        approved = Counter(name.partition("#")[0] for name in self.meant)
        assert not approved or max(approved.values()) == 1, self.meant
        edited = bool(self.begun() and Approvals(self.begun()[-1]).edits())
        assert edited or not {"turn 4 edited", "do S5 otherwise"} & {*calls}


@pytest.mark.parametrize(
    "moment",
    mostly_exhaustive(
        "calls turn 4",
        "calls turn 2",
        "calls turn 3",
        "calls turn 5",
        "calls do S3",
        "calls do S6",
    ),
)
def test_a_turn_that_was_asked_for_and_killed_is_all_that_is_asked_again(
    tmp_path: Path, moment: str
) -> None:
    with killable() as runs:
        story = Directed(runs, tmp_path / "run", moment)
        story.play()
    assert story.killed_at == moment


def test_five_turns_are_approved_and_one_is_edited(tmp_path: Path) -> None:
    with killable() as runs:
        story = Approved(runs, tmp_path / "run")
        story.play()
    calls = story.lines("calls")
    assert [call for call in calls if call.startswith("turn")] == [
        "turn 1",
        "turn 2",
        "turn 3",
        "turn 4",
        "turn 4 edited",
        "turn 5",
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_killed_at_each_turn_it_goes_on_to_the_same_answer(tmp_path: Path, number: int) -> None:
    with killable() as runs:
        Approved(runs, tmp_path / "run", f"calls turn {number}").play()


@pytest.mark.exhaustive
@pytest.mark.parametrize("story", [Directed, Approved])
def test_thirty_kills_lose_no_turn_and_ask_none_twice(
    tmp_path: Path, story: type[Directed]
) -> None:
    with killable() as runs:
        killed_often(lambda kill_at, folder: story(runs, folder, kill_at), tmp_path)
