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
