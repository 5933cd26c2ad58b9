"""Files that attempts leave lie under their names, and people are shown those of the last one."""

from __future__ import annotations

from pathlib import Path

from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.step import StepState


def step(attempts: int) -> StepState:
    tried = [
        Attempt(number=n, tier="worker", model="m", started_at=0, ended_at=1)
        for n in range(1, attempts + 1)
    ]
    return StepState(id="S1", agent="Analyst", status="succeeded", attempts=tuple(tried))


def test_the_last_attempts_files_are_shown(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_artifacts("S1", "S1.1", {"old.txt": b"1"})
    RunFolder(tmp_path).write_artifacts("S1", "S1.2", {"in/new.txt": b"2", "b.bin": b"\xff"})
    RunFolder(tmp_path).write_artifacts("S11", "S11.2", {"other.txt": b"3"})
    found = RunFolder(tmp_path).artifacts(step(2))
    assert {name: Path(file.place).read_bytes() for name, file in found.items()} == {
        "b.bin": b"\xff",
        "in/new.txt": b"2",
    }
    assert RunFolder(tmp_path).artifacts(step(3)) == {}
    assert RunFolder(tmp_path).artifacts(step(0)) == {}


def test_files_of_several_samples_are_told_apart(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_artifacts("S1", "S1.1.2", {"a.txt": b"2"})
    assert list(RunFolder(tmp_path).artifacts(step(1))) == ["a.txt"]
    RunFolder(tmp_path).write_artifacts("S1", "S1.1.1", {"a.txt": b"1"})
    assert list(RunFolder(tmp_path).artifacts(step(1))) == ["1.1/a.txt", "1.2/a.txt"]


def test_what_is_no_longer_left_goes(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_artifacts("S1", "S1.1", {"a/b/c.txt": b"1", "d": b"2"})
    RunFolder(tmp_path).write_artifacts("S1", "S1.1", {"a": b"3", "d/e": b"4"})
    found = RunFolder(tmp_path).artifacts(step(1))
    assert {name: Path(file.place).read_bytes() for name, file in found.items()} == {
        "a": b"3",
        "d/e": b"4",
    }


def test_what_the_orchestrator_leaves_has_a_folder_of_its_own(tmp_path: Path) -> None:
    RunFolder(tmp_path).write_artifacts("", "plan", {"a": b"1"})
    assert (tmp_path / "artifacts" / "plan" / "plan" / "a").read_bytes() == b"1"
