"""Killed at any moment of an edit: it is lost while it isn't written down, and never later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from killable import Story, killable, killed_often
from prefect_swarm.store.approvals import Approvals

pytestmark = [pytest.mark.exhaustive, pytest.mark.usefixtures("prefect_server")]


def plan(middle: str) -> dict[str, Any]:
    return plan_of(
        {"id": "S1"},
        {"id": "S2", "depends_on": ["S1"], "prompt": middle},
        {"id": "S3", "depends_on": ["S2"], "approval": True},
    ).model_dump(mode="json")


BEFORE, AFTER = plan("do S2"), plan("do S2 otherwise")


class Edit(Story):
    """Of two finished steps a person edits the second, while the third waits."""

    is_edited = False

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            return {"do": "start", "plan": BEFORE, "approve": ("steps",)}
        run, edits = runs[0], Approvals(runs[0]).edits()
        if run.result() is not None:
            return None
        if (waits := self.waits()) and not edits:
            return {"do": "edit", "run": run.run_id, "plan": AFTER}
        for question in waits:
            order = {"do": "answer", "run": run.run_id}
            return {**order, "question": question.id, "verdict": "approved"}
        return {"do": "resume", "run": run.run_id}

    def check(self) -> None:
        (run,) = self.begun()
        edits = Approvals(run).edits()
        assert not self.is_edited or edits
        self.is_edited = bool(edits)
        assert [edit.plan for edit in edits] == [AFTER] * len(edits)
        calls = self.lines("calls")
        assert (calls.count("do S1"), calls.count("do S2")) == (1, 1)
        assert self.is_edited or "do S2 otherwise" not in calls
        found = {name: v for name, v in self.decided(run).items() if v != "edited"}
        assert found.items() <= self.meant.items()
        assert self.given.items() <= found.items()
        assert "do S3" not in calls or found == {"S3#2": "approved"}


def test_killed_at_any_moment_of_an_edit_it_is_taken_over_once(tmp_path: Path) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return Edit(runs, folder, kill_at, spared=("start",))

    with killable() as runs:
        killed_often(made, tmp_path)
