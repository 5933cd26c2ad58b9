"""Killed at any moment between acting, failing and undoing: the report says what is there still."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from killable import FAILED, Story, killable, killed_often, mostly_exhaustive
from prefect_swarm.plan.task_ir import parse_plan

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]


def sending(step: str, letter: int, *needs: str) -> dict[str, Any]:
    """A step that sends a letter, which can be taken back."""
    call = {"toolset": "desk", "tool": "send", "arguments": {"letter": letter}}
    return {
        "id": step,
        "depends_on": [*needs],
        "call": call,
        "undo": call | {"tool": "take_back"},
    }


FAILS = {"id": "S3", "depends_on": ["S2"], "call": {"toolset": "desk", "tool": "refuse"}}
PLAN = parse_plan(
    {"objective": "Send two letters", "steps": [sending("S1", 1), sending("S2", 2, "S1"), FAILS]}
)
LETTERS = {"S1": "1", "S2": "2"}


class TakenBack(Story):
    """Two letters are sent, the third step fails, and they are taken back."""

    ends = (*Story.ends, FAILED)
    order: ClassVar[dict[str, Any]] = {}

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            plan = PLAN.model_dump(mode="json", exclude_unset=True)
            return {"do": "start", "plan": plan, **self.order}
        if (result := runs[0].result()) is None:
            return {"do": "resume", "run": runs[0].run_id, **self.order}
        said = {each.step: each.problem for each in result.undone}
        for step, letter in LETTERS.items():
            is_there = letter in self.lines("sent") and letter not in self.lines("taken_back")
            if is_there:
                assert said.get(step), self.killed_at
            if said.get(step) == "":
                assert letter in self.lines("taken_back"), self.killed_at
        assert self.lines("taken_back") in (["2", "1"], ["1"], ["2"], []), self.killed_at
        return None

    def check(self) -> None:
        for what in ("sent", "taken_back"):
            made = self.lines(what)
            assert len(set(made)) == len(made), self.killed_at
        assert set(self.lines("taken_back")) <= set(self.lines("sent")), self.killed_at


class TakenBackByServer(TakenBack):
    """The same letters, sent by an MCP server."""

    order: ClassVar[dict[str, Any]] = {"mcp": True}


MOMENTS = [
    *((TakenBack, moment) for moment in ("taken_back 2", "sent 2", "taking back 2")),
    *(
        (TakenBackByServer, f"server {moment}")
        for moment in ("taken_back 2", "sent 2", "sending 2", "taking back 2")
    ),
]


@pytest.mark.parametrize(("kind", "moment"), mostly_exhaustive(*MOMENTS))
def test_what_may_have_been_done_is_named_and_not_done_again(
    tmp_path: Path, kind: type[Story], moment: str
) -> None:
    with killable() as runs:
        story = kind(runs, tmp_path / "run", moment)
        story.play()
        [run] = story.begun()
        result = run.result()
    assert story.killed_at == moment
    assert result is not None
    said = {each.step: each.problem for each in result.undone}
    assert said["S2"]
    assert said["S1"] == ""
    assert story.lines("taken_back").count("1") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [TakenBack, TakenBackByServer])
def test_killed_at_any_moment_the_report_says_what_is_there_still(
    tmp_path: Path, kind: type[Story]
) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return kind(runs, folder, kill_at)

    with killable() as runs:
        killed_often(made, tmp_path)
