"""`prefect-swarm tell` writes to a run's orchestrator, or says why it can't and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.messages import UserMessages
from prefect_swarm.store.protocol import About

from .conftest import Invoke

FLOW_RUN = "0123abcd-0000-0000-0000-000000000000"


@pytest.fixture
def run(swarm_home: Path) -> RunFolder:
    return stored(swarm_home, turns=6)


def stored(swarm_home: Path, turns: int) -> RunFolder:
    folder = RunFolder(swarm_home / "runs" / "0123abcd0000")
    options = SwarmOptions(turns=turns).model_dump(mode="json")
    folder.write_about(About(FLOW_RUN, "Count cranes", 1.0, options))
    return folder


def test_a_run_that_nobody_works_on_keeps_the_message_and_says_when_it_is_shown(
    run: RunFolder, invoke: Invoke
) -> None:
    result = invoke("tell", run.run_id, "Also look at Portugal.", "--name", "Ann")
    assert result.exit_code == 0, result.stderr
    assert "Message 1 for the orchestrator of run 0123abcd0000 is kept." in result.stdout
    assert "No process works on it" in result.stdout
    assert "prefect-swarm resume 0123abcd0000" in result.stdout
    (message,) = UserMessages(run).all()
    assert (message.text, message.by, message.name) == ("Also look at Portugal.", "command", "Ann")


def test_a_run_that_goes_on_shows_it_in_its_next_turn(run: RunFolder, invoke: Invoke) -> None:
    with run.exclusive():
        result = invoke("tell", run.run_id, "-", "--json", stdin="Also look\nat Portugal.\n")
    assert result.exit_code == 0, result.stderr
    printed = json.loads(result.stdout)
    assert (printed["number"], printed["text"]) == (1, "Also look\nat Portugal.")
    assert printed["running"] is True


def test_inspect_shows_a_message_and_that_no_turn_has_read_it(
    run: RunFolder, invoke: Invoke
) -> None:
    invoke("tell", run.run_id, "Also look at Portugal.")
    shown = invoke("inspect", run.run_id).stdout
    assert "Message 1, by command" in shown
    assert "read in no turn: Also look at Portugal." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  ", "The message is empty."),
        ("Look\x07", "control character, U+0007"),
        ("-", "1,000,000 characters; at most 10,000"),
    ],
)
def test_a_text_that_cannot_be_taken_is_refused(
    run: RunFolder, invoke: Invoke, text: str, problem: str
) -> None:
    result = invoke("tell", run.run_id, text, stdin="x" * 1_000_000)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not UserMessages(run).all()


def test_a_run_with_one_turn_refuses_it_and_names_what_to_do(
    swarm_home: Path, invoke: Invoke
) -> None:
    run = stored(swarm_home, turns=1)
    result = invoke("tell", run.run_id, "Also look at Portugal.")
    assert result.exit_code == 2
    assert "has one turn, the plan" in result.stderr
    assert "prefect-swarm edit 0123abcd0000" in result.stderr
    assert not UserMessages(run).all()


def test_a_run_that_has_had_its_turns_refuses_it_with_the_reason(
    run: RunFolder, invoke: Invoke
) -> None:
    UserMessages(run).close("its orchestrator has had its 6 turns", 0)
    result = invoke("tell", run.run_id, "Also look at Portugal.")
    assert result.exit_code == 2
    assert "its orchestrator has had its 6 turns" in result.stderr
    assert "prefect-swarm fork 0123abcd0000" in result.stderr
