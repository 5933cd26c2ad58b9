"""No program that has no business with the server or a database gets its login."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from flow_runs import plan_of
from prefect_swarm.cli.approval_prompt import edit_in_editor
from prefect_swarm.gates import sandbox
from prefect_swarm.gates.sandbox.launched import Program
from prefect_swarm.gates.source import run_tool
from prefect_swarm.host.secrets import MASK, mask, secrets_in
from prefect_swarm.host.system import without_login
from prefect_swarm.memory.graph_process import GraphProcess
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.toolsets.mcp.process import end_child, start_child

VARIABLES = ("PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_KEY")
LOGIN = "swarm:not-for-children"
STORES = ("PREFECT_INTEGRATIONS_SWARM_STORE", "PREFECT_INTEGRATIONS_SWARM_MEMORY")
ADDRESS = f"postgresql://{LOGIN}@127.0.0.1:9/runs"
SHOW = "import os; print(dict(os.environ))"


def tool_server(_: Path) -> str:
    async def shown() -> str:
        process = await start_child((sys.executable, "-c", SHOW), {}, None)
        assert process.stdout is not None
        text = await process.stdout.read()
        await end_child(process)
        return text.decode()

    return asyncio.run(shown())


def gate_tool(_: Path) -> str:
    return asyncio.run(run_tool((sys.executable, "-c", SHOW), "")).stdout


def sandboxed(_: Path) -> str:
    return asyncio.run(sandbox.run(Program(("python", "-c", SHOW)))).stdout


def editor(folder: Path) -> str:
    script = folder / "editor.py"
    script.write_text(f"import os\nopen({str(folder / 'shown')!r}, 'w').write(str(os.environ))")
    os.environ["VISUAL"] = f"{sys.executable} {script}"
    asyncio.run(edit_in_editor(plan_of({"id": "S1"}), PlanRules(), print))
    return (folder / "shown").read_text()


def graph(folder: Path) -> str:
    process = GraphProcess(folder / "g.kuzu")
    try:
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It may have ended just now.
                if str(folder / "g.kuzu").encode() in (path / "cmdline").read_bytes():
                    return (path / "environ").read_bytes().decode("utf-8", "replace")
        raise AssertionError("the graph has no process")
    finally:
        process.close()


@pytest.mark.attack("server")
@pytest.mark.parametrize("child", [tool_server, gate_tool, sandboxed, editor, graph])
def test_a_child_gets_no_login_of_the_server_and_no_address_of_a_database(
    child: Callable[[Path], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "")
    for name in VARIABLES:
        monkeypatch.setenv(name, LOGIN)
    for name in STORES:
        monkeypatch.setenv(name, ADDRESS)
    shown = child(tmp_path)
    assert "PATH" in shown or "HOME" in shown
    assert LOGIN not in shown


def test_what_else_there_is_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", "/somewhere")
    assert without_login()["PREFECT_HOME"] == "/somewhere"


@pytest.mark.attack("server")
@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        *((name, LOGIN, LOGIN) for name in VARIABLES),
        *((name, ADDRESS, LOGIN.partition(":")[2]) for name in STORES),
    ],
)
def test_pages_and_calls_that_repeat_the_login_are_masked(
    name: str, value: str, secret: str
) -> None:
    text = f"I found {secret} in it"
    assert mask(text, secrets_in({name: value})) == f"I found {MASK} in it"
