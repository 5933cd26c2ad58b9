"""Runs are listed newest first from their folders, and no damage breaks the list."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.cli.runs import parse_since
from prefect_swarm.store.runs import ListedRun, Usual, find_usual, list_runs, usual_of

from .conftest import Invoke

RESULT: dict[str, Any] = {
    "status": "completed",
    "answer": "so it is",
    "steps": [{"status": "succeeded"}, {"status": "failed", "category": "LOGIC"}],
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
        missing=1,
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


def test_only_runs_since_a_time_are_listed(tmp_path: Path) -> None:
    for at in (1.0, 2.0, 3.0):
        store(tmp_path, f"r{at:.0f}", at)
    assert names(tmp_path, since=2.0) == ["r3", "r2"]


NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("30m", datetime(2026, 11, 27, 11, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 27, 0, 0, tzinfo=UTC)),
        (" 7D ", datetime(2026, 11, 20, 12, 0, tzinfo=UTC)),
        ("2w", datetime(2026, 11, 13, 12, 0, tzinfo=UTC)),
        ("2026-11-20T08:00+00:00", datetime(2026, 11, 20, 8, 0, tzinfo=UTC)),
    ],
)
def test_a_span_or_a_date_says_since_when(text: str, when: datetime) -> None:
    assert parse_since(text, NOW) == when.timestamp()


def test_a_date_is_that_of_the_reader_s_clock() -> None:
    assert parse_since("2026-11-20", NOW) == datetime(2026, 11, 20).astimezone().timestamp()


@pytest.mark.parametrize("text", ["", "week", "-3d", "3", "3x", "999999w", "2026-13-01"])
def test_what_is_no_time_is_wrong_usage(text: str, invoke: Invoke) -> None:
    result = invoke("runs", f"--since={text}")
    assert result.exit_code == 2
    assert "Give a span (30m, 12h, 7d, 2w) or a date" in result.stderr


def took(folder: Path, name: str, at: float, *, seconds: float, usd: float | None) -> None:
    run = store(folder, name, at, f"Report of day {at:.0f}", "completed")
    result = json.loads((run / "result.json").read_text())
    result |= {"metrics": {"makespan_s": seconds}, "cost": {"tokens": 100, "money_usd": usd}}
    (run / "result.json").write_text(json.dumps(result, indent=2))


def test_usual_is_the_median_of_the_other_runs_like_it(tmp_path: Path) -> None:
    for at, usd in enumerate((1.0, 2.0, 9.0, 100.0), 1):
        took(tmp_path, f"r{at}", float(at), seconds=usd, usd=usd)
    store(tmp_path, "other", 9.0, "Something else", "completed")
    usual = find_usual([*list_runs(folder=tmp_path)], folder=tmp_path)
    assert usual["r4"] == Usual(3, 2.0, 100.0, 2.0)
    assert usual["r1"] == Usual(3, 9.0, 100.0, 9.0)
    assert "other" not in usual


def test_two_runs_of_one_kind_are_too_few_for_what_is_usual(tmp_path: Path) -> None:
    for at in (1.0, 2.0):
        took(tmp_path, f"r{at:.0f}", at, seconds=1.0, usd=1.0)
    assert find_usual([*list_runs(folder=tmp_path)], folder=tmp_path) == {}


def test_runs_of_a_deployment_are_alike_whatever_their_objectives() -> None:
    runs = [ListedRun(name, "completed", 1.0, name, deployment="d") for name in "abc"]
    assert usual_of(runs[0], runs) == Usual(2)
    assert usual_of(ListedRun("a", "completed", 1.0, "a"), runs) is None


def test_runs_are_sorted_by_what_they_cost_and_took(swarm_home: Path, invoke: Invoke) -> None:
    folder = swarm_home / "runs"
    took(folder, "cheap", 4.0, seconds=9.0, usd=0.1)
    took(folder, "dear", 3.0, seconds=1.0, usd=5.0)
    took(folder, "free", 2.0, seconds=2.0, usd=None)

    def order(*options: str) -> list[str]:
        listed = json.loads(invoke("runs", "--json", *options).stdout)["runs"]
        return [run["run_id"] for run in listed]

    assert order() == ["cheap", "dear", "free"]
    assert order("--sort", "cost") == ["dear", "cheap", "free"]
    assert order("--sort", "time") == ["cheap", "free", "dear"]
    assert order("--sort", "cost", "--limit", "1") == ["dear"]


def test_the_last_line_has_the_totals(swarm_home: Path, invoke: Invoke) -> None:
    folder = swarm_home / "runs"
    took(folder, "one", 1.0, seconds=60.0, usd=0.25)
    took(folder, "two", 2.0, seconds=30.0, usd=None)
    store(folder, "three", 3.0, "Report of day 3", "failed")
    lines = invoke("runs").stdout.splitlines()
    assert (
        "In all: 3 runs (1 failed, 2 completed, 3 missing) · 1:33 · 270 tokens · "
        "$0.5000 (1 without a price)"
    ) in lines
    cut = invoke("runs", "--limit", "1").stdout
    assert "Of those shown: 1 run (1 failed, 1 missing)" in cut
    assert "1 run shown, and there are older ones" in cut
    least = invoke("runs", "--sort", "cost", "--limit", "1").stdout
    assert "In all: 3 runs" in least


def test_a_completed_run_with_something_missing_says_so(swarm_home: Path, invoke: Invoke) -> None:
    store(swarm_home / "runs", "one", 1.0, status="completed")
    assert "completed, 1 missing" in invoke("runs").stdout
