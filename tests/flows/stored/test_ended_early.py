"""Why a run has no result is read from its last event."""

from __future__ import annotations

import json

import pytest
from prefect_swarm.cli.app import app
from prefect_swarm.events.kinds import BeganEvent, FinishedEvent, RunEvent
from prefect_swarm.events.log import EVENTS, opened_log
from prefect_swarm.flows.stored.ended_early import ended_early
from prefect_swarm.runs import RunFolder
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("swarm_home")
ID = "0192f0c4-7a41-4d3e-9b1c-aaaaaaaaaaaa"


def run_with(*events: RunEvent) -> RunFolder:
    run = RunFolder.of(ID)
    run.store("run.json", {"objective": "Find out", "flow_run_id": ID, "started_at": 1.0})
    with opened_log(run.folder / EVENTS) as log:
        for event in events:
            log.add(event, run.run_id)
    return run


@pytest.mark.parametrize(
    "events",
    [
        (),
        (BeganEvent(),),
        (BeganEvent(), FinishedEvent(status="cancelled", problem="The run was cancelled.")),
        (FinishedEvent(status="unfinished", problem="No disk."), BeganEvent(resumed=True)),
    ],
)
def test_nothing_is_said_where_no_error_ended_it(events: tuple[RunEvent, ...]) -> None:
    assert ended_early(run_with(*events)) == ""


def test_the_error_that_ended_it_is_shown() -> None:
    problem = "The file tools.json can't be read. Check the path."
    run = run_with(BeganEvent(), FinishedEvent(status="unfinished", problem=problem))
    assert ended_early(run) == problem
    shown = CliRunner().invoke(app, ["inspect", run.run_id]).stdout
    assert f"It ended early: {problem} Go on with: prefect-swarm resume {run.run_id}" in shown
    record = json.loads(CliRunner().invoke(app, ["inspect", run.run_id, "--json"]).stdout)
    assert record["problem"] == problem
