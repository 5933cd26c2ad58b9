"""The deployment `swarm-tell`: its form writes to a run's orchestrator."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from prefect.client.schemas.objects import State
from prefect.utilities.callables import parameter_schema
from prefect_swarm.errors import InputError, RunNotFoundError
from prefect_swarm.flows.message_flow import swarm_tell
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.messages import UserMessages
from prefect_swarm.store.protocol import About

FLOW_RUN = "0123abcd-0000-0000-0000-000000000000"

pytestmark = pytest.mark.usefixtures("prefect_server")


def stored(swarm_home: Path, turns: int = 6) -> RunFolder:
    folder = RunFolder(swarm_home / "runs" / "0123abcd0000")
    options = SwarmOptions(turns=turns).model_dump(mode="json")
    folder.write_about(About(FLOW_RUN, "Count cranes", 1.0, options))
    return folder


def write(run: str, message: str, name: str = "") -> State[Any]:
    called = cast("Any", swarm_tell)(run, message, name, return_state=True)
    return asyncio.run(called)


def test_its_form_asks_for_the_run_and_the_message() -> None:
    form = parameter_schema(swarm_tell)
    assert [*form.properties] == ["run", "message", "name"]
    assert form.required == ["run", "message"]
    assert form.properties["message"]["maxLength"] == 10_000


@pytest.mark.parametrize("name", ["0123abcd0000", FLOW_RUN])
def test_a_message_is_kept_for_the_next_turn_and_the_state_says_so(
    swarm_home: Path, name: str
) -> None:
    run = stored(swarm_home)
    with run.exclusive():
        state = write(name, "Also look\nat Portugal.", "Ann")
    assert state.name == "Completed"
    assert str(state.message).endswith("run 0123abcd0000 is kept. Its next turn shows it.")
    (message,) = UserMessages(run).all()
    assert (message.text, message.by, message.name) == ("Also look\nat Portugal.", "form", "Ann")


def test_a_run_that_nobody_works_on_shows_it_after_a_resume(swarm_home: Path) -> None:
    assert "after a resume" in str(write(stored(swarm_home).run_id, "Look again.").message)


def test_a_run_that_has_no_turn_any_more_refuses_it(swarm_home: Path) -> None:
    run = stored(swarm_home, turns=1)
    state = write(run.run_id, "Look again.")
    assert state.name == "Failed"
    with pytest.raises(InputError, match="has one turn, the plan"):
        asyncio.run(cast("Any", state.aresult()))
    assert UserMessages(run).all() == ()


def test_a_run_of_another_machine_is_not_found_here(swarm_home: Path) -> None:
    state = write("ffffabcd0000", "Look again.")
    with pytest.raises(RunNotFoundError, match="This worker looked on its own machine"):
        asyncio.run(cast("Any", state.aresult()))
