"""Killed at any moment while a tool is called that acts: no call is made twice, none unasked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from killable import Story, killable, killed_often, mostly_exhaustive
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.approvals import Approvals

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

PLAN = parse_plan(
    {
        "objective": "Send three letters",
        "agents": [{"name": "Clerk", "system_prompt": "You send letters.", "tools": ["desk"]}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "do S1"}],
    }
)


class Letters(Story):
    """A person approves each letter, and is asked about those that may have been sent."""

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            return {"do": "start", "plan": PLAN.model_dump(mode="json"), "approve": ("tools",)}
        if runs[0].result() is not None:
            assert self.lines("sent") == ["1", "2", "3"], self.killed_at
            return None
        for question in self.waits():
            doubtful = question.asked == "uncertain_call"
            # Whoever is asked whether it was made looks.
            was_made = doubtful and letter_of(question.text) in self.lines("sent")
            verdict = "rejected" if was_made else "approved"
            order = {"do": "answer", "run": runs[0].run_id}
            return {**order, "question": question.id, "verdict": verdict}
        return {"do": "resume", "run": runs[0].run_id}

    def check(self) -> None:
        found = self.check_decisions()
        sent = self.lines("sent")
        assert len(set(sent)) == len(sent), self.killed_at
        asked = Approvals(self.begun()[0]).questions() if self.begun() else ()
        approved = {letter_of(q.text) for q in asked if found.get(q.id) == "approved"}
        assert set(sent) <= approved, self.killed_at


class TwoAlike(Story):
    """A person wants the same letter sent twice; both calls are equal and have one id."""

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            plan = PLAN.model_dump(mode="json")
            return {"do": "start", "plan": plan, "approve": ("tools",), "alike": True}
        if (result := runs[0].result()) is not None:
            assert self.lines("sent") == ["1", "1"], self.killed_at
            assert [call.ordinal for call in result.steps[0].attempts[0].calls] == [1, 2]
            return None
        for question in self.waits():
            again = re.search(r"\.(\d)\.again\d", question.id)
            was_made = again is not None and len(self.lines("sent")) >= int(again[1])
            verdict = "rejected" if was_made else "approved"
            order = {"do": "answer", "run": runs[0].run_id}
            return {**order, "question": question.id, "verdict": verdict}
        return {"do": "resume", "run": runs[0].run_id, "alike": True}

    def check(self) -> None:
        approvals = [v for v in self.check_decisions().values() if v == "approved"]
        assert len(self.lines("sent")) <= len(approvals), self.killed_at


def letter_of(text: str) -> str:
    """The number of the letter that a question is about."""
    found = re.search(r"letter\W+(\d)", text)
    assert found is not None, text
    return found[1]


def test_killed_before_it_has_written_that_a_call_was_made_it_asks_a_person(
    tmp_path: Path,
) -> None:
    with killable() as runs:
        story = Letters(runs, tmp_path / "run", "sent 2")
        story.play()
        asked = [question.asked for question in Approvals(story.begun()[0]).questions()]
    assert story.killed_at == "sent 2"
    assert asked.count("uncertain_call") == 1


@pytest.mark.parametrize("moment", mostly_exhaustive("sent 1", "sending 1", "calls do S1 after 1"))
def test_of_two_equal_calls_of_one_id_each_is_made_once_whatever_is_killed(
    tmp_path: Path, moment: str
) -> None:
    with killable() as runs:
        story = TwoAlike(runs, tmp_path / "run", moment)
        story.play()
        asked = Approvals(story.begun()[0]).questions()
    assert story.killed_at == moment
    assert len([each for each in asked if each.asked == "call"]) == 2
    assert len({each.subject for each in asked}) == len(asked)


@pytest.mark.exhaustive
def test_killed_at_any_moment_two_equal_calls_are_two(tmp_path: Path) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return TwoAlike(runs, folder, kill_at)

    with killable() as runs:
        killed_often(made, tmp_path)


@pytest.mark.exhaustive
def test_killed_at_any_moment_no_call_is_made_twice_or_unasked(tmp_path: Path) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return Letters(runs, folder, kill_at)

    with killable() as runs:
        killed_often(made, tmp_path)
