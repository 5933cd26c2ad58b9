"""Why a run has no result is read from its last event."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect_swarm.cli.app import app
from prefect_swarm.report.stored_view import ended_early
from prefect_swarm.store.events import BeganEvent, FinishedEvent, RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import run_id_of
from typer.testing import CliRunner

Made = Callable[..., RunFolder]
ID = "0192f0c4-7a41-4d3e-9b1c-aaaaaaaaaaaa"


@pytest.fixture
def run_with(swarm_home: Path) -> Made:
    """Make the folder of a run that has these events."""

    def make(*events: RunEvent) -> RunFolder:
        run = RunFolder(swarm_home / "runs" / run_id_of(ID))
        run.store("run.json", {"objective": "Find out", "flow_run_id": ID, "started_at": 1.0})
        with run.event_log() as log:
            for event in events:
                log.add(event, run.run_id)
        return run

    return make


@pytest.mark.parametrize(
    "events",
    [
        (),
        (BeganEvent(),),
        (BeganEvent(), FinishedEvent(status="cancelled", problem="The run was cancelled.")),
        (FinishedEvent(status="unfinished", problem="No disk."), BeganEvent(resumed=True)),
    ],
)
def test_nothing_is_said_where_no_error_ended_it(
    events: tuple[RunEvent, ...], run_with: Made
) -> None:
    assert ended_early(run_with(*events)) == ""


def test_the_error_that_ended_it_is_shown(run_with: Made) -> None:
    problem = "The file tools.json can't be read. Check the path."
    run = run_with(BeganEvent(), FinishedEvent(status="unfinished", problem=problem))
    assert ended_early(run) == problem
    shown = CliRunner().invoke(app, ["inspect", run.run_id]).stdout
    assert f"It ended early: {problem} Resume with: prefect-swarm resume {run.run_id}" in shown
    record = json.loads(CliRunner().invoke(app, ["inspect", run.run_id, "--json"]).stdout)
    assert record["problem"] == problem
