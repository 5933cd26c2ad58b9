"""`run`, `batch` and `resume` with a scripted model on a real Prefect server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import load_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from .conftest import EXAMPLES, Invoke

UNEVEN = EXAMPLES / "uneven.json"
REPORT = EXAMPLES / "report.json"


def obliging(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("Here it is.")])


def silent(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("")])


@pytest.fixture(autouse=True)
def scripted(prefect_server: None) -> Iterator[None]:
    with override_models(worker=FunctionModel(obliging), orchestrator=FunctionModel(obliging)):
        yield


def test_json_alone_is_on_standard_output_and_progress_on_the_other(invoke: Invoke) -> None:
    result = invoke("run", "--plan", UNEVEN, "--json")
    assert result.exit_code == 0, result.stderr
    printed = SwarmResult.model_validate_json(result.stdout)
    assert (printed.status, printed.answer) == ("completed", "Here it is.")
    assert printed.plan == load_plan(UNEVEN)
    lines = result.stderr.splitlines()
    assert any("S5 Editor finished" in line for line in lines)
    assert not any("|" in line for line in lines)


def test_the_report_has_plan_timeline_answer_figures_and_what_to_do_next(invoke: Invoke) -> None:
    result = invoke("run", "--plan", UNEVEN)
    lines = result.stdout.splitlines()
    (run_line,) = [line for line in lines if line.startswith("Run ")]
    run_id = run_line.split()[1]
    assert run_line == f"Run {run_id} is completed."
    assert lines[1] == "Plan of 5 steps (given)"
    assert sum("|" in line for line in lines) == 5
    assert lines[lines.index("Answer") + 1] == "Here it is."
    assert f"Look closer: prefect-swarm inspect {run_id} [--step S5]" in lines
    assert any(line.startswith("Prefect UI:  http") for line in lines)
    assert RunFolder.find(run_id).result() is not None


def test_a_run_that_is_partly_completed_leaves_with_3(invoke: Invoke) -> None:
    result = invoke("run", "--plan", REPORT, "--max-attempts", "1")
    assert result.exit_code == 3
    assert "Partly completed: S1: " in result.stderr
    assert "--step S1" in result.stderr
    assert "Problems" in result.stdout


LOSSY = {
    "objective": "Describe drinks",
    "agents": [{"name": "Writer", "system_prompt": "You write."}],
    "steps": [
        {
            "id": "S1",
            "agent": "Writer",
            "prompt": "Describe {item}",
            "for_each": {"items": ["tea", "nothing", "coffee"], "at_least": 2},
        },
        {"id": "S2", "agent": "Writer", "prompt": "Describe nothing at all", "optional": True},
        {"id": "S3", "agent": "Writer", "prompt": "Compare", "depends_on": ["S1"]},
    ],
    "final_step": "S3",
}


def without_nothing(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    asked = str(getattr(messages[-1].parts[-1], "content", ""))
    return ModelResponse(parts=[TextPart("" if "Describe nothing" in asked else "Here it is.")])


@pytest.fixture
def lossy(tmp_path: Path) -> Iterator[Path]:
    """A plan that is completed without an item and an optional step."""
    path = tmp_path / "lossy.json"
    path.write_text(json.dumps(LOSSY))
    model = FunctionModel(without_nothing)
    with override_models(worker=model, orchestrator=model):
        yield path


def test_a_completed_run_with_items_missing_leaves_with_3_and_names_them(
    lossy: Path, invoke: Invoke
) -> None:
    result = invoke("run", "--plan", lossy, "--max-attempts", "1")
    run = next(line for line in result.stdout.splitlines() if line.startswith("Run ")).split()[1]
    assert result.exit_code == 3
    assert f"Run {run} is completed, 1 step and 1 item missing." in result.stdout
    assert "Completed, with 1 step and 1 item missing: S1[2], S2." in result.stderr
    assert f"To do them again: prefect-swarm fork {run}" in result.stderr
    assert re.search(r"^S2 +Writer +gave up ", result.stdout, re.MULTILINE)
    page = invoke("inspect", run, "--page", "answer").stdout
    assert "completed, 1 step and 1 item missing · 3 steps: 2 succeeded, 1 gave up" in page
    assert "S1[2] (nothing): FORMAT" in page
    assert f"prefect-swarm fork {run}" in page
    listed = json.loads(invoke("runs", "--json").stdout)["runs"]
    assert [(each["status"], each["missing"]) for each in listed] == [("completed", 2)]
    assert invoke("watch", run, "--exit-code").exit_code == 3


def test_the_named_command_does_what_is_missing_and_nothing_else_again(
    lossy: Path, invoke: Invoke
) -> None:
    first = json.loads(invoke("run", "--plan", lossy, "--max-attempts", "1", "--json").stdout)
    with override_models(worker=FunctionModel(obliging), orchestrator=FunctionModel(obliging)):
        again = invoke("fork", first["run_id"], "--json")
    assert again.exit_code == 0, again.stderr
    result = SwarmResult.model_validate_json(again.stdout)
    assert result.failures == ()
    assert [step.id for step in result.steps if step.taken_from] == ["S1[1]", "S1[3]"]


def test_a_line_of_a_batch_with_items_missing_is_not_whole(
    lossy: Path, tmp_path: Path, invoke: Invoke
) -> None:
    lines = batch_file(tmp_path, {"plan": LOSSY}, MAPPED)
    result = invoke("batch", lines, "--max-attempts", "1")
    assert result.exit_code == 3
    assert "1 step and 1 item missing: S1[2], S2" in result.stderr
    assert "2 lines: 1 completed with something missing, 1 completed" in result.stderr


def test_what_the_memory_did_is_said_with_verbose_alone(invoke: Invoke) -> None:
    invoke("run", "--plan", UNEVEN)
    run = json.loads(invoke("run", "--plan", UNEVEN, "--json").stdout)["run_id"]
    assert "Recalled" not in invoke("inspect", run).stdout
    assert "Recalled" in invoke("inspect", run, "-v").stdout


def test_a_run_that_is_completed_can_be_resumed_and_is_not_run_again(invoke: Invoke) -> None:
    first = SwarmResult.model_validate_json(invoke("run", "--plan", UNEVEN, "--json").stdout)
    again = invoke("resume", first.run_id, "--json")
    assert again.exit_code == 0, again.stderr
    assert SwarmResult.model_validate_json(again.stdout) == first


def batch_file(folder: Path, *lines: object) -> Path:
    path = folder / "batch.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return path


MAPPED = {"prompt_template": "Describe {item}", "items": ["tea", "coffee"], "join": "Compare"}


def test_a_bad_line_of_a_batch_is_named_and_the_others_run(tmp_path: Path, invoke: Invoke) -> None:
    result = invoke("batch", batch_file(tmp_path, MAPPED, "{", "", MAPPED))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["number"] for line in lines] == [1, 2, 4]
    assert [line["result"] is not None for line in lines] == [True, False, True]
    assert result.exit_code == 3
    assert "Line 2: failed: The line is not JSON" in result.stderr
    assert "3 lines: 2 completed, 1 failed" in result.stderr


def test_a_batch_that_is_completed_leaves_with_0_and_fills_its_file(
    tmp_path: Path, invoke: Invoke
) -> None:
    results = tmp_path / "results.jsonl"
    result = invoke("batch", "-", "--output", results, stdin=json.dumps(MAPPED))
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(results.read_text())["result"]["status"] == "completed"


def test_a_batch_that_is_started_again_passes_over_what_is_completed(
    tmp_path: Path, invoke: Invoke
) -> None:
    results = tmp_path / "results.jsonl"
    lines = batch_file(tmp_path, MAPPED, "{")
    first = invoke("batch", lines, "--output", results)
    before = results.read_text()
    second = invoke("batch", lines, "--output", results)
    assert (first.exit_code, second.exit_code) == (3, 3)
    assert "1 line passed over: completed in the output." in second.stderr
    assert "Line 1: " not in second.stderr
    assert results.read_text() == before
    third = invoke("batch", lines, "--output", results, "--again")
    assert "Line 1: run " in third.stderr
    assert json.loads(results.read_text().splitlines()[0]) != json.loads(before.splitlines()[0])


def test_a_run_that_lies_elsewhere_is_not_begun_anew(invoke: Invoke) -> None:
    first = SwarmResult.model_validate_json(invoke("run", "--plan", UNEVEN, "--json").stdout)
    shutil.rmtree(RunFolder.find(first.run_id).folder)
    result = invoke("resume", first.flow_run_id)
    assert result.exit_code == 2
    assert "is gone" in result.stderr
    assert "--start-over" in result.stderr
    again = invoke("resume", first.flow_run_id, "--start-over", "--json")
    assert SwarmResult.model_validate_json(again.stdout).status == "completed"
    assert invoke("resume", "0" * 32).exit_code == 2


def test_a_batch_in_which_nothing_succeeds_leaves_with_1(tmp_path: Path, invoke: Invoke) -> None:
    with override_models(worker=FunctionModel(silent)):
        result = invoke("batch", batch_file(tmp_path, MAPPED), "--max-attempts", "1")
    assert result.exit_code == 1
    assert "Line 1: run " in result.stderr
