"""The example package is found as an installed one is, and the tutorial shows its files."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT, blocks, sections
from prefect_swarm.cli.app import app
from prefect_swarm.errors import Category
from prefect_swarm.gates import (
    Gate,
    GateResult,
    PipelineResult,
    Subject,
    build_pipeline,
    check,
    find_gate,
    gates,
    run_pipeline,
    select_gates,
)
from prefect_swarm.gates.pipeline import GROUP
from prefect_swarm.plan.task_ir import Output, PlanRules, parse_plan
from typer.testing import CliRunner

EXAMPLE = ROOT / "examples" / "own_gate"
PAGE = "\n".join(sections("own_gate.md").values())
LETTER = "Dear [insert name],\n\nthe report is ready. TODO: attach it.\n"


def project() -> dict[str, Any]:
    return tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an installation of the example would put into site-packages, on the path."""
    about = project()
    module = EXAMPLE / "placeholder_gate.py"
    (tmp_path / module.name).write_text(module.read_text("utf-8"), "utf-8")
    (info := tmp_path / "placeholder_gate-1.0.dist-info").mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n", "utf-8"
    )
    points = [f"{name} = {value}" for name, value in about["entry-points"][GROUP].items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *points]), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    gates.cache_clear()
    yield
    gates.cache_clear()
    sys.modules.pop("placeholder_gate", None)


def run_gates(line: tuple[str, ...], text: str) -> PipelineResult:
    async def run_gate(gate: Gate, subject: Subject, required: bool) -> GateResult:
        return await check(gate, subject, required=required)

    return asyncio.run(run_pipeline(build_pipeline(line), Subject(artifact=text), run_gate))


@pytest.mark.usefixtures("installed")
def test_its_entry_point_is_found() -> None:
    assert find_gate("placeholders").about == "a text without TODO, lorem ipsum or [insert …]"
    assert [*gates()][-1] == "placeholders"


@pytest.mark.usefixtures("installed")
def test_it_names_what_is_left_to_fill_in() -> None:
    found = asyncio.run(check(find_gate("placeholders"), Subject(artifact=LETTER)))
    assert (found.status, found.category, found.version) == ("failed", Category.FORMAT, "1")
    assert [diagnostic.line for diagnostic in found.diagnostics] == [1, 3]
    assert "[insert name]" in str(found.diagnostics[0])


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "text", ["All is said.", "Todo lo dicho [1].", "See [the list](list.md).", "[added later]"]
)
def test_what_only_looks_like_a_placeholder_passes(text: str) -> None:
    result = asyncio.run(check(find_gate("placeholders"), Subject(artifact=text)))
    assert result.status == "passed"


@pytest.mark.usefixtures("installed")
def test_it_stands_in_the_line_beside_the_others() -> None:
    line = select_gates(Output(), ("+placeholders",))
    assert line == ("repetition", "placeholders")
    stopper = run_gates(line, LETTER).stopped_by
    assert stopper is not None
    assert stopper.gate == "placeholders"
    assert run_gates(line, "All is said.").stopped_by is None


@pytest.mark.usefixtures("installed")
def test_a_plan_may_ask_for_it() -> None:
    plan = {
        "objective": "Write to them",
        "agents": [{"name": "Clerk", "system_prompt": "You write letters."}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "Write", "gates": ["+placeholders"]}],
    }
    assert parse_plan(plan, PlanRules(gates=frozenset(gates()))).steps[0].gates


@pytest.mark.usefixtures("installed", "swarm_home")
def test_the_page_shows_what_the_command_says(tmp_path: Path) -> None:
    (letter := tmp_path / "letter.txt").write_text(LETTER, "utf-8")
    result = CliRunner().invoke(app, ["gates", "check", str(letter), "--gates", "+placeholders"])
    assert result.exit_code == 1
    shown = _without_times(PAGE)
    for line in _without_times(result.stdout).splitlines():
        assert line in shown


def _without_times(text: str) -> str:
    return re.sub(r"\d\.\d\d s", "0 s", text)


def test_the_page_shows_the_example_itself() -> None:
    assert (EXAMPLE / "pyproject.toml").read_text("utf-8") in blocks(PAGE, "toml")
    assert (EXAMPLE / "placeholder_gate.py").read_text("utf-8") in blocks(PAGE, "python")


@pytest.mark.usefixtures("installed")
def test_its_test_in_the_page_holds(tmp_path: Path) -> None:
    (code,) = [text for text in blocks(PAGE, "python") if "assert" in text]
    (file := tmp_path / "page.py").write_text(code, "utf-8")
    assert runpy.run_path(str(file))["found"].status == "passed"
