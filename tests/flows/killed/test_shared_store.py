"""Killed at any moment where the run is in PostgreSQL: nothing is lost, and no call made twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from killable import KILLS, Story, killable, killed_often, spread
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.filed_run import FiledRun
from prefect_swarm.store.postgres import PostgresRun

from .test_calls import PLAN, Letters

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server")]


class StoredLetters(Letters):
    """Letters of a run whose state is in a database, which has the runs of all stories."""

    def next_order(self) -> dict[str, Any] | None:
        order = super().next_order()
        if order is not None and order["do"] == "start":
            plan = PLAN.model_copy(update={"objective": self._objective})
            order["plan"] = plan.model_dump(mode="json")
        return order

    @property
    def _objective(self) -> str:
        return f"{PLAN.objective} of {self.folder.name}"

    def begun(self) -> list[FiledRun]:
        # As a program on any machine finds them.
        return [found.run for found in PostgresRun.all(DSN[0], 0) if self._is_own(found.run)]

    def _is_own(self, run: PostgresRun) -> bool:
        return run.about().objective == self._objective

    def check(self) -> None:
        super().check()
        assert not (self.folder / "swarm" / "runs").exists()


DSN: list[str] = []


@pytest.fixture(autouse=True)
def address(runs_database: str) -> None:
    DSN[:] = [runs_database]


def test_killed_in_the_middle_of_a_call_another_process_goes_on(tmp_path: Path) -> None:
    with killable() as runs:
        story = StoredLetters(runs, tmp_path / "run", "sent 2")
        story.play()
        asked = [question.asked for question in Approvals(story.begun()[0]).questions()]
    assert story.killed_at == "sent 2"
    assert asked.count("uncertain_call") == 1


@pytest.mark.exhaustive
def test_killed_at_some_moments_no_call_is_made_twice(tmp_path: Path) -> None:
    with killable() as runs:
        whole = StoredLetters(runs, tmp_path / "whole", 0)
        whole.play()
        for number in spread(len(whole.moments), 4):
            StoredLetters(runs, tmp_path / str(number), number).play()


@pytest.mark.exhaustive
def test_killed_at_any_moment_no_call_is_made_twice_or_unasked(tmp_path: Path) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return StoredLetters(runs, folder, kill_at)

    assert KILLS
    with killable() as runs:
        killed_often(made, tmp_path)
