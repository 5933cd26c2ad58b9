"""What a server asks for is looked at, filled in and refused by commands."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import About
from prefect_swarm.store.question import Question
from prefect_swarm.store.requested import fields_in

from .conftest import Invoke

FLOW_RUN = "0123abcd-0000-0000-0000-000000000000"
RUN = "0123abcd0000"
FIELDS = fields_in(
    {
        "properties": {"seats": {"type": "integer"}, "it's": {"enum": ["a", "b"], "default": "a"}},
        "required": ["seats"],
    }
)


@pytest.fixture
def run(swarm_home: Path) -> RunFolder:
    folder = RunFolder(swarm_home / "runs" / RUN)
    options = SwarmOptions().model_dump(mode="json")
    folder.write_about(About(FLOW_RUN, "Count cranes", 1.0, options))
    asked = Question(
        id="S1.1.asks", asked="elicitation", step="S1", title="travel asks S1", fields=FIELDS
    )
    Approvals(folder).ask(asked)
    return folder


def test_waiting_shows_how_it_is_filled_in(run: RunFolder, invoke: Invoke) -> None:
    lines = invoke("waiting", RUN).stdout.splitlines()
    [command] = (line for line in lines if line.startswith("prefect-swarm approve"))
    assert shlex.split(command)[2:] == [
        RUN,
        "S1.1.asks",
        "--content",
        '{"seats": "..."}',
        "--resume",
    ]


def test_what_is_filled_in_is_kept_with_the_decision(run: RunFolder, invoke: Invoke) -> None:
    result = invoke("approve", RUN, "--content", '{"seats": 3}')
    assert result.exit_code == 0, result.stderr
    answer = Approvals(run).answer_to("S1.1.asks")
    assert answer is not None
    assert (answer.content, answer.by) == ({"seats": 3, "it's": "a"}, "command")
    shown = " ".join(invoke("inspect", RUN).stdout.split())
    assert "seats: 3, it's: a" in shown
    [record] = json.loads(invoke("inspect", RUN, "--json").stdout)["questions"]
    assert record["answer"]["content"] == {"seats": 3, "it's": "a"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ((), "seats is required: whole number."),
        (("--content", "{"), "--content is no JSON"),
        (("--content", "[1]"), "--content is no JSON object."),
        (("--content", '{"seats": "3"}'), "seats has to be whole number."),
        (("--content", '{"seats": 3, "meal": 1}'), "There is no field 'meal'"),
    ],
)
def test_what_does_not_fit_decides_nothing(
    run: RunFolder, invoke: Invoke, content: tuple[str, ...], why: str
) -> None:
    result = invoke("approve", RUN, *content)
    assert result.exit_code == 2
    assert why in " ".join(result.stderr.split())
    assert Approvals(run).answer_to("S1.1.asks") is None


def test_to_reject_it_needs_nothing(run: RunFolder, invoke: Invoke) -> None:
    assert invoke("reject", RUN, "--why", "not now").exit_code == 0
    answer = Approvals(run).answer_to("S1.1.asks")
    assert answer is not None
    assert (answer.verdict, answer.content) == ("rejected", None)
