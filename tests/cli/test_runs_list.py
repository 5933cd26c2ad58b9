"""Runs are listed newest first from their folders, and no damage breaks the list."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.store.runs import ListedRun, list_runs

from .conftest import Invoke

RESULT: dict[str, Any] = {
    "status": "completed",
    "answer": "so it is",
    "steps": [{"status": "succeeded"}, {"status": "failed"}],
    "metrics": {"makespan_s": 3.5},
    "cost": {"tokens": 70, "money_usd": 0.25},
}


def store(folder: Path, name: str, at: float, objective: str = "", status: str = "") -> Path:
    (run := folder / name).mkdir(parents=True)
    about = {"flow_run_id": f"{name}-long", "objective": objective or name, "started_at": at}
    (run / "run.json").write_text(json.dumps(about))
    if status:
        result = {"run_id": name, "flow_run_id": f"{name}-long", **RESULT, "status": status}
        (run / "result.json").write_text(json.dumps(result, indent=2))
    return run


def names(folder: Path, *args: Any, **more: Any) -> list[str]:
    return [run.run_id for run in list_runs(*args, folder=folder, **more)]


def test_the_newest_is_first_with_what_it_took(tmp_path: Path) -> None:
    store(tmp_path, "old", 1.0, status="failed")
    store(tmp_path, "new", 2.0, "Compare trains", status="completed")
    first, second = list_runs(folder=tmp_path)
    assert first == ListedRun(
        *("new", "completed", 2.0, "Compare trains", "new-long", 2, 3.5, 70, 0.25),
        done=1,
        instances=0,
        instances_done=0,
    )
    assert (second.run_id, second.status) == ("old", "failed")


def test_a_folder_without_runs_has_none(tmp_path: Path) -> None:
    (tmp_path / "refused").mkdir()
    (tmp_path / "refused" / "lock").touch()
    (tmp_path / "a file").touch()
    assert names(tmp_path) == []
    assert names(tmp_path / "none") == []


def test_words_are_looked_for_in_objective_and_id(tmp_path: Path) -> None:
    store(tmp_path, "a1", 1.0, "Compare Trains and buses")
    store(tmp_path, "b2", 2.0, "Compare bicycles")
    assert names(tmp_path, ("compare",)) == ["b2", "a1"]
    assert names(tmp_path, ("TRAINS", "buses")) == ["a1"]
    assert names(tmp_path, ("B2",)) == ["b2"]


def test_statuses_choose(tmp_path: Path) -> None:
    for at, status in enumerate(("completed", "failed", "partial", "")):
        store(tmp_path, status or "open", float(at), status=status)
    store(tmp_path, "broken", 9.0, status="completed")
    (tmp_path / "broken" / "run.json").write_text("{")
    for status in ("completed", "failed", "partial"):
        assert names(tmp_path, statuses=frozenset({status})) == [status]
    assert names(tmp_path, statuses=frozenset({"stopped", "failed"})) == ["open", "failed"]
    assert names(tmp_path, statuses=frozenset({"damaged"})) == ["broken"]


def test_a_run_that_a_process_executes_is_running(tmp_path: Path) -> None:
    run = store(tmp_path, "now", 1.0)
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))
        lock.flush()
        assert [found.status for found in list_runs(folder=tmp_path)] == ["running"]
    # The process lives on, and holds it no more.
    assert [found.status for found in list_runs(folder=tmp_path)] == ["stopped"]
    (run / "lock").write_text("no number")
    assert [found.status for found in list_runs(folder=tmp_path)] == ["stopped"]


def test_a_run_that_has_not_ended_has_its_plan_s_steps_and_how_many_are_done(
    tmp_path: Path,
) -> None:
    run = store(tmp_path, "halfway", 1.0)
    (run / "plan.json").write_text('{"steps": [{}, {}, {}]}')
    (run / "outputs").mkdir()
    (run / "outputs" / "S1.txt").touch()
    (found,) = list_runs(folder=tmp_path)
    assert (found.status, found.done, found.steps, found.running_s) == ("stopped", 1, 3, None)
    (run / "plan.json").write_text("{")
    (found,) = list_runs(folder=tmp_path)
    assert (found.status, found.done, found.steps) == ("stopped", None, None)


def test_instances_are_counted_where_members_did_the_work(swarm_home: Path, invoke: Invoke) -> None:
    run = store(swarm_home / "runs", "halfway", 1.0)
    (run / "plan.json").write_text('{"steps": [{}, {}, {}]}')
    (run / "outputs").mkdir()
    for name in ("S1", "S2[1]", "S2[1].S1", "S2[1].S2", "S2[2].S1", "S3[1]", "S3[1]r1", "notes"):
        (run / "outputs" / f"{name}.txt").touch()
    (found,) = list_runs(folder=swarm_home / "runs")
    assert (found.done, found.instances, found.instances_done) == (1, None, 4)
    steps = [
        {"id": "S1", "status": "succeeded"},
        {"id": "S2", "status": "succeeded"},
        *({"id": f"S2[{n}]", "parent": "S2", "status": "succeeded"} for n in range(1, 4)),
        {"id": "S2[4]", "parent": "S2", "status": "failed"},
    ]
    (store(swarm_home / "runs", "over", 2.0, status="completed") / "result.json").write_text(
        json.dumps({**RESULT, "steps": steps})
    )
    first, _ = list_runs(folder=swarm_home / "runs")
    assert (first.done, first.steps, first.instances_done, first.instances) == (2, 2, 3, 4)
    shown = invoke("runs").stdout
    assert " 2/2 · 3/4 instances " in shown
    assert " 1/3 · 4 instances " in shown


def test_a_run_that_is_executed_has_the_time_since_its_process_began(tmp_path: Path) -> None:
    run = store(tmp_path, "now", 1.0)
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(os.getpid()))
        lock.flush()
        os.utime(run / "lock", (1.0, 1.0))
        (found,) = list_runs(folder=tmp_path)
    assert found.running_s is not None
    assert found.running_s > 1e9


@pytest.mark.parametrize(
    ("name", "content", "damage"),
    [
        ("run.json", b"", "it is empty"),
        ("run.json", b"{", "Expecting property name"),
        ("run.json", b"[]", "it is not a JSON object"),
        ("run.json", b'{"objective": "x"}', "has no started_at"),
        ("run.json", b'{"started_at": "soon"}', "started_at: Input should be a valid number"),
        ("run.json", b'{"x": "\xe9"}', "is not UTF-8"),
        ("run.json", b"[" * 100_000, "nested over 100 levels deep"),
        ("run.json", None, "is missing"),
        ("result.json", b"", "it is empty"),
        ("result.json", b'{"status": "completed"', "Expecting"),
        ("result.json", b'{"status": "great"}', "status: Input should be 'completed'"),
        ("result.json", b'{"status": "completed"}', "has no cost"),
        ("result.json", b'{"status": "failed", "cost": 1, "metrics": 2, "steps": []}', "result"),
    ],
)
def test_a_damaged_run_is_listed_as_damaged_with_its_file(
    name: str, content: bytes | None, damage: str, tmp_path: Path
) -> None:
    store(tmp_path, "whole", 1.0, status="completed")
    path = store(tmp_path, "hurt", 2.0, status="completed") / name
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    first, second = list_runs(folder=tmp_path)
    assert (first.run_id, first.status, second.run_id) == ("hurt", "damaged", "whole")
    assert str(path) in first.damage
    assert damage in first.damage
