"""`run --stream` prints the run's events and nothing else; `inspect --events` shows them again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.models.resolve import override_models
from scripted import Script

from .conftest import EXAMPLES, Invoke

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def streamed(invoke: Invoke) -> tuple[list[dict[str, Any]], str]:
    model = Script().model()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        done = invoke("run", "--plan", EXAMPLES / "uneven.json", "--stream")
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_events_are_all_of_standard_output_and_the_last_has_the_answer(invoke: Invoke) -> None:
    events, errors = streamed(invoke)
    assert [event["number"] for event in events] == [*range(1, len(events) + 1)]
    kinds = [event["kind"] for event in events]
    assert kinds[0] == "began"
    assert kinds[-1] == "finished"
    assert events[-1]["answer"]
    assert "S1" not in errors


def test_inspect_shows_the_same_events_from_any_number(invoke: Invoke) -> None:
    events, _ = streamed(invoke)
    name = events[0]["run"]
    shown = invoke("inspect", name, "--events", "--json").stdout.splitlines()
    assert [json.loads(line) for line in shown] == events
    lines = invoke("inspect", name, "--events", "--from", 3).stdout.splitlines()
    assert len(lines) == len(events) - 2
    assert lines[0].split()[0] == "3"
    assert lines[-1].endswith("run: finished · completed")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "x", "--stream", "--json"), "--json and --stream exclude each other."),
        (("inspect", "x", "--from", "3"), "--from counts events."),
        (("inspect", "x", "--events", "--step", "S1"), "--events and --step exclude each other."),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    invoke: Invoke, arguments: tuple[str, ...], problem: str
) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert problem in done.stderr
