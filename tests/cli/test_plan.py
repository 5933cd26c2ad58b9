"""`plan` shows what would run, and `run --plan` takes what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from adapters import write_adapter
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, load_plan
from scripted_local import ScriptedModel

from .conftest import EXAMPLES, Invoke

UNEVEN = EXAMPLES / "uneven.json"
NOWHERE = "http://127.0.0.1:9/api"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.name)
def test_every_example_is_a_plan(path: Path) -> None:
    assert load_plan(path).steps


def test_the_table_has_every_step_with_what_it_needs(invoke: Invoke) -> None:
    result = invoke("plan", "--plan", UNEVEN)
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line[:1] == "S"}
    assert list(rows) == ["Step", "S1", "S2", "S3", "S4", "S5"]
    assert "S3, S4" in rows["S5"]
    assert "5 steps, 2 can start immediately, longest path 4 steps." in result.stdout


def test_a_toolset_that_nothing_gives_is_an_error(tmp_path: Path, invoke: Invoke) -> None:
    plan, servers = tmp_path / "plan.json", tmp_path / "tools.json"
    agents = [{"name": "A", "system_prompt": "You look.", "tools": ["time"]}]
    steps = [{"id": "S1", "agent": "A", "prompt": "Look"}]
    plan.write_text(json.dumps({"objective": "Look", "agents": agents, "steps": steps}))
    servers.write_text('{"mcpServers": {"time": {"command": "not-started"}}}')
    assert "has the toolset 'time'" in invoke("plan", "--plan", plan).stderr
    assert invoke("plan", "--plan", plan, "--mcp", servers).exit_code == 0


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


@pytest.mark.parametrize("verb", ["plan", "run"])
def test_an_objective_beside_a_plan_has_to_be_the_plans_own(invoke: Invoke, verb: str) -> None:
    result = invoke(verb, "Another one", "--plan", UNEVEN)
    assert result.exit_code == 2
    assert f"'Another one' is not the plan's, {load_plan(UNEVEN).objective!r}" in result.stderr


def test_a_plans_own_objective_may_stand_beside_it(invoke: Invoke) -> None:
    result = invoke("plan", load_plan(UNEVEN).objective, "--plan", UNEVEN, "--json")
    assert TaskIR.model_validate_json(result.stdout) == load_plan(UNEVEN)


def test_a_template_makes_a_step_that_is_done_for_each_item(invoke: Invoke) -> None:
    result = invoke(
        "plan",
        *("--items", EXAMPLES / "items.txt"),
        *("--template", "Describe {item}", "--join", "Compare them", "--json"),
    )
    plan = TaskIR.model_validate_json(result.stdout)
    assert [step.prompt for step in plan.steps] == ["Describe {item}", "Compare them"]
    assert plan.steps[0].for_each is not None
    assert plan.steps[0].for_each.items == ("solar power", "wind power", "hydro power")
    assert plan.steps[-1].depends_on == ("S1",)


ONE = "1. Poet: Write a poem about the sea"


def test_the_orchestrator_plans_with_its_adapter(tmp_path: Path, invoke: Invoke) -> None:
    model = ScriptedModel(ONE, adapter=write_adapter(tmp_path / "a.gguf"))
    with override_models(orchestrator=model):
        result = invoke("plan", "Write a poem about the sea")
    assert result.exit_code == 0
    assert "llamacpp_adapter" in model.settings_of_requests[0]


def test_it_plans_under_the_grammar_where_it_is_to_have_none(
    tmp_path: Path, invoke: Invoke
) -> None:
    plan = {
        "create_subagent": [{"name": "Poet", "system_prompt": "You write."}],
        "assign_task": [{"agent": "Poet", "prompt": "Write a poem", "depends_on": []}],
    }
    model = ScriptedModel(json.dumps(plan), adapter=write_adapter(tmp_path / "a.gguf"))
    with override_models(orchestrator=model):
        result = invoke("plan", "Write a poem about the sea", "--no-adapter")
    assert result.exit_code == 0
    assert "llamacpp_adapter" not in model.settings_of_requests[0]
    assert "as the model wrote it" in result.stderr


def test_a_plan_is_estimated(invoke: Invoke) -> None:
    text = invoke("plan", "--plan", UNEVEN, "--model", "openai:gpt-4o").stdout
    assert "Estimated: about " in text
    assert "tokens, $0." in text
    unknown = invoke("plan", "--plan", UNEVEN, "--model", "openai:mine@http://localhost/v1").stdout
    assert "price not known" in unknown


@pytest.mark.model
def test_the_model_plans_and_says_how_well(invoke: Invoke) -> None:
    result = invoke("plan", "Compare tea and coffee", "--json")
    assert result.exit_code == 0
    assert TaskIR.model_validate_json(result.stdout).objective == "Compare tea and coffee"
    assert "Planned by SmolLM2" in result.stderr


# --- how often steps are done ---------------------------------------------------------------------

SPREAD = {
    "objective": "Compare",
    "agents": [{"name": "Ann", "system_prompt": "You read."}],
    "steps": [
        {
            "id": "S1",
            "agent": "Ann",
            "prompt": "Find",
            "output": {"kind": "json", "schema": {"type": "object"}},
        },
        {
            "id": "S2",
            "for_each": {"items": "S1", "at": "/papers", "max_items": 50},
            "plan": {"steps": [{"id": "S1", "agent": "Ann", "prompt": "Read {item}"}]},
        },
        {"id": "S3", "agent": "Ann", "prompt": "Judge {item}", "for_each": {"items": "S2"}},
        {
            "id": "S4",
            "agent": "Ann",
            "prompt": "Fix",
            "when": {"step": "S1", "at": "/kind", "is": "bug"},
        },
        {"id": "S5", "collect": "table", "depends_on": ["S3", "S4"]},
    ],
}


@pytest.fixture
def spread(tmp_path: Path) -> Path:
    (path := tmp_path / "spread.json").write_text(json.dumps(SPREAD))
    return path


def test_the_table_says_how_often_steps_are_done(spread: Path, invoke: Invoke) -> None:
    printed = invoke("plan", "--plan", spread, "--max-attempts", "1").stdout
    rows = {line.split()[0]: line for line in printed.splitlines() if line[:1] == "S"}
    assert "S2.S1" in rows
    assert "S3: for each of S2, at most 100" in printed
    assert "S4: if S1 /kind is bug" in printed
    assert (
        "Steps that are done: from 2 up to 103 (S2 from 0 up to 50, S3 from 0 up to 50); "
        "requests to models: from 1 up to 102."
    ) in printed


def test_a_plan_of_steps_that_are_done_once_says_nothing_of_it(invoke: Invoke) -> None:
    assert "Steps that are done" not in invoke("plan", "--plan", UNEVEN).stdout


def test_items_of_an_input_are_counted_before_the_run(tmp_path: Path, invoke: Invoke) -> None:
    step = {"id": "S1", "agent": "Ann", "prompt": "Read {item.a}", "for_each": {"items": "t.csv"}}
    (path := tmp_path / "plan.json").write_text(json.dumps({**SPREAD, "steps": [step]}))
    (table := tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    printed = invoke("plan", "--plan", path, "--file", table, "--max-attempts", "1").stdout
    assert "Steps that are done: 3 (S1 3); requests to models: 3." in printed


def test_the_flowchart_says_how_often_steps_are_done(spread: Path, invoke: Invoke) -> None:
    drawn = invoke("plan", "--plan", spread, "--mermaid").stdout
    assert 'S2[["S2<br/>for each of S1 /papers, at most 50<br/>a plan of 1 step inside' in drawn
    assert "    S1 -.-> S4" in drawn
    assert "    S3 --> S5" in drawn


def test_what_json_prints_has_the_words_of_the_plan(spread: Path, invoke: Invoke) -> None:
    steps = json.loads(invoke("plan", "--plan", spread, "--json").stdout)["steps"]
    assert steps[1]["for_each"]["max_items"] == 50
    assert steps[3]["when"]["is"] == "bug"
