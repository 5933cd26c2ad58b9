"""A flow run of a server as lines and as a board, whatever the clock."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from prefect_swarm.cli.watch_flow_run import (
    FlowSnapshot,
    TaskSnapshot,
    changes,
    draw_flow,
    flow_code,
    flow_words,
)
from rich.console import Console

DONE = TaskSnapshot("1", "S1, Ann, attempt 1", "Completed", "COMPLETED", 101.0, 103.5)
RUNS = TaskSnapshot("2", "S2, Bo, attempt 1", "Running", "RUNNING", 104.0)
FLOW = FlowSnapshot("f", "Compare", "Running", "RUNNING", "", 100.0, None, (DONE, RUNS))


def test_all_states_are_new_at_first() -> None:
    assert changes(None, FLOW) == [
        "S1, Ann, attempt 1: Completed after 2.5 s",
        "S2, Bo, attempt 1: Running",
        "The flow run is Running",
    ]


def test_later_only_what_changed_has_a_line() -> None:
    assert changes(FLOW, FLOW) == []
    over = replace(RUNS, state="Failed", kind="FAILED", ended_at=106.0)
    now = replace(FLOW, state="Completed", kind="COMPLETED", tasks=(DONE, over))
    assert changes(FLOW, now) == [
        "S2, Bo, attempt 1: Failed after 2.0 s",
        "The flow run is Completed",
    ]


def test_a_line_says_how_far_it_is() -> None:
    words = flow_words(FLOW, 110.0)
    assert words == "Running · 2 task runs: 1 Completed, 1 Running · 10.0 s"
    assert flow_words(replace(FLOW, tasks=(), started_at=None, more=True), 1.0) == (
        "Running · at least 0 task runs"
    )


@pytest.mark.parametrize(
    ("state", "kind", "code"),
    [
        ("Completed", "COMPLETED", 0),
        ("Partial", "COMPLETED", 3),
        ("Failed", "FAILED", 1),
        ("Crashed", "CRASHED", 1),
        ("Cancelled", "CANCELLED", 130),
    ],
)
def test_a_flow_run_s_state_is_an_exit_code(state: str, kind: str, code: int) -> None:
    assert flow_code(replace(FLOW, state=state, kind=kind)) == code


def test_a_board_shows_what_runs_before_what_is_over() -> None:
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as shown:
        console.print(draw_flow(FLOW, 110.0, 1, "no folder"))
    title, header, row, more, words, note = shown.get().splitlines()
    assert title == "Compare"
    assert header.split() == ["Task", "run", "State", "Started", "Time"]
    assert "S2, Bo, attempt 1" in row
    assert row.endswith("6.0 s ")
    assert (more, note) == ("… and 1 more task run", "no folder")
    assert words.startswith("Running · 2 task runs")
