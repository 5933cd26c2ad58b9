"""The tutorials on models, approvals and deployments show what their commands do."""

from __future__ import annotations

import re
import runpy
import threading
from collections.abc import Generator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from docs_pages import ROOT, blocks, page_path
from prefect.flows import load_flow_from_entrypoint
from prefect_swarm.cli.app import app
from prefect_swarm.plan.task_ir import PlanRules, load_plan
from typer.testing import CliRunner, Result

APPROVE = page_path("approve_and_edit.md").read_text("utf-8")
DEPLOY = page_path("tutorials/deploy.md").read_text("utf-8")
OWN_MODEL = page_path("own_model.md").read_text("utf-8")


@pytest.fixture
def model() -> Generator[str]:
    """The program that pretends to be a model, at any free port; yields the model's name."""
    handler = runpy.run_path(str(ROOT / "examples" / "tools" / "pretend_model.py"))["Model"]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"openai:pretend@http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_the_deployed_flow_is_found_by_the_name_that_the_page_has() -> None:
    [named] = set(re.findall(r"deploy (prefect_swarm:\w+)", DEPLOY))
    assert load_flow_from_entrypoint(named).name == "swarm"


def test_the_tool_is_that_of_the_example() -> None:
    [tools] = blocks(DEPLOY, "json")
    assert tools == (ROOT / "examples" / "tools" / "tools.json").read_text("utf-8")


def test_the_plan_marks_a_step(tmp_path: Path) -> None:
    [text] = blocks(APPROVE, "json")
    (file := tmp_path / "steps.json").write_text(text, "utf-8")
    plan = load_plan(file, PlanRules())
    assert [step.approval for step in plan.steps] == [False, True]


@pytest.mark.usefixtures("swarm_home")
@pytest.mark.parametrize("wrong", ["pretnd", "pretend"])
def test_doctor_says_what_is_wrong_as_the_page_has_it(model: str, wrong: str) -> None:
    named = model.replace("pretend", wrong)
    shown = invoke("doctor", "--deep", "--model", named).stdout
    words = "has no model 'pretnd'" if wrong == "pretnd" else "pretend; it says 'it is 17:00"
    assert words in shown
    assert words in OWN_MODEL
