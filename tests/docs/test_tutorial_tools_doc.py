"""The tutorial on tools by MCP shows files that are there and commands that end as it says."""

from __future__ import annotations

import json
import re

import pytest
from docs_pages import ROOT, blocks, page_path
from prefect_swarm.cli.app import app
from typer.testing import CliRunner, Result

EXAMPLE = ROOT / "examples" / "tools"
PAGE = page_path("mcp_tools.md").read_text("utf-8")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def run(model: str, tools: str, *more: str) -> Result:
    given = ("--plan", EXAMPLE / "plan.json", "--mcp", EXAMPLE / tools, "--model", model)
    return invoke("run", *given, "--no-memory", *more)


def id_in(result: Result) -> str:
    found = re.search(r"Run ([0-9a-f]{12})", result.stdout + result.stderr)
    assert found is not None
    return found[1]


def line(text: str, beginning: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(beginning))


def test_the_files_are_those_of_the_example() -> None:
    names = ("tools.json", "plan.json", "acting.json")
    assert blocks(PAGE, "json") == [(EXAMPLE / name).read_text("utf-8") for name in names]


def test_the_plan_is_shown_as_the_page_has_it() -> None:
    files = ("--plan", EXAMPLE / "plan.json", "--mcp", EXAMPLE / "tools.json")
    shown = invoke("plan", *files).stdout
    assert shown.splitlines()[-2] in PAGE


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_the_agent_calls_its_tool(model: str) -> None:
    ran = run(model, "tools.json")
    assert ran.exit_code == 0, ran.stderr
    assert line(ran.stdout, "Dear caller") in PAGE
    shown = invoke("inspect", id_in(ran), "--step", "S1").stdout
    call, arguments, result = shown[shown.index("Call 1:") :].splitlines()[:3]
    assert call.partition(" in ")[0] in PAGE
    assert arguments in PAGE
    assert set(json.loads(result)) == {"source", "target", "time_difference"}
    assert line(shown, "it is") in PAGE


@pytest.mark.slow
@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_call_that_acts_waits_until_it_is_approved(model: str) -> None:
    left = run(model, "acting.json", "--approve", "tools")
    assert left.exit_code == 4
    assert re.search(r"waits for approval of S1\.1-[0-9a-f]{8}\.1\.", left.stderr)
    waiting = invoke("waiting", id_in(left)).stdout
    assert "the call of convert_time acts; make it?" in waiting
    assert blocks(waiting, "json")[0] in PAGE
    done = invoke("approve", id_in(left), "--resume")
    assert done.exit_code == 0, done.stderr
    assert "paid for" not in done.stderr
    assert line(done.stdout, "Dear caller") in PAGE
    assert "3 calls" in done.stdout
    assert "approved by command" in invoke("inspect", id_in(left)).stdout
