"""`plan` shows what would run, and `run --plan` takes what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefect_swarm.task_ir import TaskIR, load_plan

from .conftest import EXAMPLES, Invoke

UNEVEN = EXAMPLES / "uneven.json"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.name)
def test_every_example_is_a_plan(path: Path) -> None:
    assert load_plan(path).steps


def test_the_table_has_every_step_with_what_it_needs(invoke: Invoke) -> None:
    result = invoke("plan", "--plan", UNEVEN)
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line[:1] == "S"}
    assert list(rows) == ["Step", "S1", "S2", "S3", "S4", "S5"]
    assert "S3, S4" in rows["S5"]
    assert "5 steps, 2 can start at once, longest path 4 steps." in result.stdout


def test_the_flowchart_has_every_edge(invoke: Invoke) -> None:
    lines = [
        line.strip() for line in invoke("plan", "--plan", UNEVEN, "--mermaid").stdout.split("\n")
    ]
    assert lines[0] == "flowchart LR"
    assert {"S1 --> S2", "S2 --> S3", "S3 --> S5", "S4 --> S5"} <= set(lines)


def test_what_json_prints_is_the_plan_again(tmp_path: Path, invoke: Invoke) -> None:
    first = invoke("plan", "--plan", UNEVEN, "--json").stdout
    copy = tmp_path / "copy.json"
    copy.write_text(first)
    assert load_plan(copy) == load_plan(UNEVEN)
    assert invoke("plan", "--plan", copy, "--json").stdout == first


def test_a_plan_can_come_from_standard_input(invoke: Invoke) -> None:
    result = invoke("plan", "--plan", "-", "--json", stdin=UNEVEN.read_text())
    assert TaskIR.model_validate_json(result.stdout) == load_plan(UNEVEN)


def test_an_objective_beside_a_plan_goes_before_the_plans_own(invoke: Invoke) -> None:
    result = invoke("plan", "Another one", "--plan", UNEVEN, "--json")
    assert json.loads(result.stdout)["objective"] == "Another one"


def test_a_template_makes_a_step_of_each_item(invoke: Invoke) -> None:
    result = invoke(
        "plan",
        *("--items", EXAMPLES / "items.txt"),
        *("--template", "Describe {item}", "--join", "Compare them", "--json"),
    )
    plan = TaskIR.model_validate_json(result.stdout)
    assert [step.prompt for step in plan.steps] == [
        "Describe solar power",
        "Describe wind power",
        "Describe hydro power",
        "Compare them",
    ]
    assert plan.steps[-1].depends_on == ("S1", "S2", "S3")


@pytest.mark.model
def test_the_model_plans_and_says_how_well(invoke: Invoke) -> None:
    result = invoke("plan", "Compare tea and coffee", "--json")
    assert result.exit_code == 0
    assert TaskIR.model_validate_json(result.stdout).objective == "Compare tea and coffee"
    assert "Planned by SmolLM2" in result.stderr
