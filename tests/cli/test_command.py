"""`prefect-swarm runs` shows the runs that are stored, and what to do with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Invoke
from .test_runs_list import store


@pytest.fixture
def stored(swarm_home: Path) -> Path:
    for number in range(30):
        store(swarm_home / "runs", f"run{number:02}", float(number), "Count [red]", "completed")
    store(swarm_home / "runs", "halfway", 50.0, "Write a book")
    return swarm_home / "runs"


def test_the_newest_are_shown_and_that_there_are_more(stored: Path, invoke: Invoke) -> None:
    lines = invoke("runs", "--limit", 3).stdout.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["halfway", "run29", "run28"]
    assert lines[3].split()[-2:] == ["Count", "[red]"]
    assert "3 runs shown, and there are older ones: see --limit." in lines
    assert "To go on with one that stopped: prefect-swarm resume halfway" in lines


def test_as_json_each_run_is_a_record(stored: Path, invoke: Invoke) -> None:
    found = json.loads(invoke("runs", "count", "--status", "completed", "--json").stdout)
    assert [run["run_id"] for run in found["runs"]] == [f"run{n:02}" for n in range(29, 9, -1)]
    assert found["more"]
    first = found["runs"][0]
    assert (first["makespan_s"], first["tokens"], first["usd"]) == (3.5, 70, 0.25)
    assert first["started_at"].startswith("19")
    none = json.loads(invoke("runs", "nothing so", "--json").stdout)
    assert (none["runs"], none["more"], none["totals"]["runs"]) == ([], False, 0)


def test_how_many_steps_are_done_stands_before_time_and_cost(stored: Path, invoke: Invoke) -> None:
    header, _, _, ended, *_ = invoke("runs", "--limit", 2).stdout.splitlines()
    assert " ".join(header.split()) == "Run Started Status Done Time Tokens Cost Usual Objective"
    words = ["completed,", "1", "missing", "1/2", "3.5", "s", "70"]
    assert ended.split()[3:10] == words


def test_where_there_are_none_that_is_said(swarm_home: Path, invoke: Invoke) -> None:
    assert invoke("runs").stdout == f"No run is stored in {swarm_home}.\n"
    assert invoke("runs", "x").stdout == "No run matches.\n"


def test_a_status_that_there_isn_t_is_refused(invoke: Invoke) -> None:
    result = invoke("runs", "--status", "good")
    assert result.exit_code == 2
    assert "--status got 'good'" in result.stderr
