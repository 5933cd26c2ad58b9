"""What a person does from one home with a run that another home does; a batch of two homes.

Each home has a mount, process and user namespace of its own; see `tests/support/homes.py`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from homes import NEEDS_HOMES, Home, home_of
from own_server import kill_tree, wait_for
from prefect.settings import get_current_settings
from prefect_swarm.store.postgres import PostgresRun
from provider_runs import serving
from provider_server import Asked, Reply

pytestmark = [pytest.mark.slow, NEEDS_HOMES, pytest.mark.usefixtures("prefect_server")]

OBJECTIVE = "Which of the harbours has the most cranes?"
PORTUGAL = "Also look at Portugal."
PLAN: dict[str, Any] = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read ledgers."}],
    "assign_task": [{"agent": "Reader", "prompt": "Name the harbours.", "depends_on": []}],
    "look_after": [1],
}
LISBON: dict[str, Any] = {
    "assign_task": [{"agent": "Reader", "prompt": "Count the cranes of Lisbon.", "depends_on": []}],
    "look_after": [2],
}
FINISH = {"finish": {"answer": "Lisbon has the most."}}
LINES = 6


@pytest.fixture
def home(tmp_path: Path, runs_database: str) -> Callable[[str], Home]:
    api = get_current_settings().api.url
    assert api is not None
    return lambda name: home_of(name, tmp_path, api, runs_database)


def text_of(home: Home) -> str:
    return (home.folder / "results.jsonl").read_text()


def run_in(database: str) -> str:
    """Return the only run that is stored."""
    (found,) = PostgresRun.all(database, 0)
    return found.run.run_id


def test_a_run_is_watched_and_told_from_other_homes_while_it_goes_on(
    home: Callable[[str], Home], runs_database: str, tmp_path: Path
) -> None:
    oak, elm, ash = map(home, ("oak", "elm", "ash"))
    log, watched, turns = tmp_path / "log", tmp_path / "watched", list[str]()
    working, told = threading.Event(), threading.Event()

    def reply(asked: Asked) -> Reply:
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            return Reply(tool_args=PLAN)
        if "You direct the team in turns" in json.dumps(asked.body["messages"]):
            turns.append(asked.prompt)
            return Reply(json.dumps(FINISH if turns[1:] else LISBON))
        working.set()
        return Reply("It has 12.", hold=told)

    with serving(reply) as provider:
        options = ("--model", provider.name(), "--turns", "6", "--no-memory")
        run = oak.start("prefect-swarm", "run", OBJECTIVE, *options, output=log)
        wait_for(working.is_set, "the first step")
        run_id = run_in(runs_database)
        watch = ash.start("prefect-swarm", "watch", run_id, output=watched)
        # The step ends once another home has seen that it began.
        wait_for(lambda: "S1 Reader started" in watched.read_text(), "the event elsewhere")
        assert "1" in elm.call("prefect-swarm", "tell", run_id, PORTUGAL)
        told.set()
        assert run.wait(120) == 0, log.read_text()
        assert watch.wait(60) == 0, watched.read_text()
    assert len(turns) == 2
    assert PORTUGAL in turns[0]
    assert "Lisbon has the most." in watched.read_text()


def test_two_homes_do_the_lines_of_one_batch_each_once_also_those_of_one_that_dies(
    home: Callable[[str], Home],
) -> None:
    oak, elm = map(home, ("oak", "elm"))
    held, asked_for = threading.Event(), list[str]()
    plans = [plan_of({"id": "S1", "prompt": f"line {number}"}) for number in range(LINES)]
    text = "".join(
        json.dumps({"plan": plan.model_dump(mode="json") | {"objective": f"Job {number}"}}) + "\n"
        for number, plan in enumerate(plans)
    )
    for each in (oak, elm):
        (each.folder / "jobs.jsonl").write_text(text)

    def reply(asked: Asked) -> Reply:
        asked_for.append(asked.prompt.splitlines()[-1])
        return Reply("done", hold=held if len(asked_for) == 1 else None)

    with serving(reply) as provider:
        command = (
            *("prefect-swarm", "batch", "jobs.jsonl", "--output", "results.jsonl"),
            *("--shared", "night", "--model", provider.name(), "--no-memory"),
        )
        dying = oak.start(*command, output=oak.folder / "batch.log")
        wait_for(lambda: bool(asked_for), "the first line")
        living = elm.start(*command, output=elm.folder / "batch.log")
        wait_for(lambda: len(set(asked_for)) == LINES, "the other lines")
        kill_tree(dying.pid)
        dying.wait()
        held.set()
        assert living.wait(240) == 0, (elm.folder / "batch.log").read_text()
        lost, *others = asked_for
        assert sorted(others) == sorted(f"line {number}" for number in range(LINES))
        assert lost == "line 0"

        oak.call(*command)
        assert len(asked_for) == LINES + 1
    for each in (oak, elm):
        results = [json.loads(line) for line in text_of(each).splitlines()]
        assert [line["number"] for line in results] == [*range(1, LINES + 1)]
        assert [line["result"]["status"] for line in results] == ["completed"] * LINES
        assert {line["error"] for line in results} == {""}


def test_a_batch_is_shared_only_where_all_homes_reach_its_runs(
    home: Callable[[str], Home],
) -> None:
    oak = home("oak")
    (oak.folder / "jobs.jsonl").write_text('"Do it"\n')
    (oak.folder / "said").touch()
    command = ("batch", "jobs.jsonl", "--shared", "night", "--model", "test")
    without = oak.with_variables(PREFECT_INTEGRATIONS_SWARM_STORE="")
    process = without.start("prefect-swarm", *command, output=oak.folder / "said")
    assert process.wait(120) != 0
    assert "PREFECT_INTEGRATIONS_SWARM_STORE" in (oak.folder / "said").read_text()
