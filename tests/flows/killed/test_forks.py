"""Killed at any moment, a fork goes on; it repeats nothing, and the other run stays as it is."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from flow_runs import UNEVEN, plan_of
from killable import Story, killable, killed_often
from prefect_swarm.store.filed_run import FiledRun

pytestmark = [pytest.mark.exhaustive, pytest.mark.usefixtures("prefect_server")]


class Fork(Story):
    """Two of four steps are done anew."""

    source = ""
    before = ""

    def next_order(self) -> dict[str, Any] | None:
        if not (runs := {run.run_id: run for run in self.begun()}):
            return {"do": "start", "plan": plan_of(*UNEVEN).model_dump(mode="json")}
        if not self.source:
            self.source = next(iter(runs))
            self.before = content(runs[self.source])
            (self.folder / "calls").unlink()
        if not (forks := self.own()):
            return {"do": "fork", "run": self.source, "again": ("S3",)}
        if (result := forks[0].result()) is None:
            return {"do": "resume", "run": forks[0].run_id}
        taken = [step.id for step in result.steps if step.taken_from]
        assert (result.status, taken) == ("completed", ["S1", "S2"])
        assert result.answer == "done: do S4"
        assert [forks[0].read(f"outputs/{name}.txt") for name in taken] == [
            "done: do S1",
            "done: do S2",
        ]
        return None

    def own(self) -> list[FiledRun]:
        return [run for run in self.begun() if run.run_id != self.source]

    def check(self) -> None:
        if self.source:
            assert set(self.lines("calls")) <= {"do S3", "do S4"}
            (source,) = (run for run in self.begun() if run.run_id == self.source)
            assert content(source) == self.before


def content(run: FiledRun) -> str:
    """A hash of all files of a run."""
    files = sorted(path for path in Path(run.place()).rglob("*") if path.is_file())
    pairs = [(str(path), path.read_bytes().hex()) for path in files]
    return hashlib.sha256(repr(pairs).encode()).hexdigest()


def test_killed_at_any_moment_a_fork_takes_over_the_same_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        return Fork(runs, folder, kill_at, spared=("start",))

    with killable() as runs:
        killed_often(made, tmp_path)
