"""Killed at any moment of a run that waits for a person: no decision is lost, none is invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from killable import Story, killable, killed_often

pytestmark = [pytest.mark.exhaustive, pytest.mark.usefixtures("prefect_server")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"], "approval": True})


class Pause(Story):
    """The plan is approved, and a step of it is approved, or rejected at each second kill."""

    @property
    def is_rejected(self) -> bool:
        return self.kill_at % 2 == 1

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := self.begun()):
            plan = PLAN.model_dump(mode="json")
            return {"do": "start", "plan": plan, "approve": ("plan", "steps")}
        if runs[0].result() is not None:
            return None
        for question in self.waits():
            is_rejected = question.id == "S2" and self.is_rejected
            verdict = "rejected" if is_rejected else "approved"
            run = runs[0].run_id
            return {"do": "answer", "run": run, "question": question.id, "verdict": verdict}
        return {"do": "resume", "run": runs[0].run_id}

    def check(self) -> None:
        found = self.check_decisions()
        for call, question in {"do S1": "plan", "do S2": "S2"}.items():
            assert call not in self.lines("calls") or found.get(question) == "approved"


def test_killed_at_any_moment_it_waits_until_it_is_answered(tmp_path: Path) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return Pause(runs, folder, kill_at)

    with killable() as runs:
        killed_often(made, tmp_path)
