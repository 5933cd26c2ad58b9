"""Killed around the turn that reads a person's message: it is shown in one turn, and never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from killable import killable, mostly_exhaustive
from prefect_swarm.flows.stored_plan import stored_turns
from prefect_swarm.store.messages import UserMessages

from .test_turns import TURNS, Directed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]

TEXT = "Also look at Portugal."


class Written(Directed):
    """A person writes to the orchestrator before they approve the plan; then it is killed."""

    spared = ("start", "answer")
    # A message brings the second turn forward: the steps before it may not be over then.
    turns: ClassVar[list[dict[str, Any]]] = [
        {key: part for key, part in turn.items() if key != "sees"} for turn in TURNS
    ]

    def next_order(self) -> dict[str, Any] | None:
        order = super().next_order()
        if not (runs := self.begun()):
            return {**(order or {}), "approve": ["plan"]}
        run = runs[-1]
        for question in self.waits():
            UserMessages(run).add(TEXT, by="command")
            answer = {"question": question.id, "verdict": "approved"}
            return {"do": "answer", "run": run.run_id, **answer}
        if order is None:
            turns = stored_turns(run)
            assert [n for turn in turns for n in turn.messages] == [1], self.killed_at
            assert sum(turn.asked.count(TEXT) for turn in turns) == 1, self.killed_at
            assert sum(event.kind == "message" for event in run.events()) == 1, self.killed_at
        return order


@pytest.mark.parametrize("moment", mostly_exhaustive("calls turn 2", "calls turn 3"))
def test_a_message_is_shown_once_whenever_the_run_is_killed(tmp_path: Path, moment: str) -> None:
    with killable() as runs:
        story = Written(runs, tmp_path / "run", moment)
        story.play()
    assert story.killed_at == moment
