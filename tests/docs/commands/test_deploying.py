"""The tutorial on deploying is typed against a Prefect server, with a worker."""

from __future__ import annotations

import pytest
from documented.commands import Command, commands
from documented.fences import fences
from documented.stand_in import Answering
from prefect.settings import get_current_settings

from .conftest import Typist
from .sessions import Session, pretending

PAGE = "docs/tutorials/deploy.md"
SHOWN = [
    command
    for fence in fences("console", "sh")
    if fence.page == PAGE
    for command in commands(fence)
]
ELSEWHERE = (
    "pip ",
    "python pretend_model.py",
    "python told.py",
    "prefect server start",
    "prefect config set",
    "prefect worker start",
    "prefect-swarm doctor",
)
"""What is there in another form: a server, a model, and a worker when a flow run is due."""
WORKER = "prefect worker start --pool swarm --run-once"
"""A worker that ends once it has run what is due."""
WITH_WORKER = {
    "prefect deployment run": f"{{command}}\n{WORKER} > worker.log 2>&1",
    "prefect-swarm watch": f"{WORKER} > worker.log 2>&1 &\n{{command}}\ncode=$?\nwait\nexit $code",
}
"""Commands with a worker behind or beside them."""


@pytest.fixture
def deployed(typist: Typist, models: Answering) -> Typist:
    models.reply = pretending
    Session(example="tools").lay_out(typist.shell.folder)
    api = get_current_settings().api.url
    assert api is not None
    typist.shell.variables["PREFECT_API_URL"] = api
    return typist


@pytest.mark.slow
def test_a_run_with_a_model_a_tool_and_an_approval_is_deployed(deployed: Typist) -> None:
    ids: dict[str, str] = {}
    found: list[str] = []
    for command in SHOWN:
        if not command.text.startswith(ELSEWHERE):
            found += deployed.problems(command, ids, [], form=form_of(command))
    assert found == [], "\n".join(found)


def form_of(command: Command) -> str:
    """Return what is typed with a command, so that a worker runs what is due."""
    forms = (form for begins, form in WITH_WORKER.items() if command.text.startswith(begins))
    return next(forms, "{command}")
