"""`eval` with scripted models on a real Prefect server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.evals.report import Comparison, EvalReport, load_report
from prefect_swarm.models.names import register_model
from prefect_swarm.models.resolve import override_models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from .conftest import Invoke, Written

PLAN = {
    "objective": "Compare tea and coffee",
    "agents": [{"name": "Writer", "system_prompt": "You write."}],
    "steps": [{"id": "S1", "agent": "Writer", "prompt": "Write it."}],
}
CASES = """
cases:
  - name: good
    plan: plan.json
    checks: {words: {all: [tea]}, max_steps: 1, max_makespan_s: 600}
  - name: bad
    plan: plan.json
    checks: {words: {all: [milk]}, max_tokens: 1}
"""
ONE_CASE = "name: tests\ncases: [{name: good, plan: plan.json, checks: {words: {all: tea}}}]"


def answering(text: str) -> FunctionModel:
    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(text)])

    return FunctionModel(answer)


def judging(*, passed: bool) -> str:
    def judge(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (tool,) = info.output_tools
        verdict = {"reason": "It names tea.", "pass": passed, "score": 1.0}
        return ModelResponse(parts=[ToolCallPart(tool.name, verdict)])

    return register_model(FunctionModel(judge))


@pytest.fixture(autouse=True)
def scripted(prefect_server: None) -> Iterator[None]:
    model = answering("Tea is older than coffee.")
    with override_models(worker=model, orchestrator=model):
        yield


@pytest.fixture
def evaluated(invoke: Invoke, written: Written) -> Callable[..., Any]:
    """Run the command over a text of cases, each once if nothing else is said."""
    written("plan.json", json.dumps(PLAN))

    def call(cases: str, *arguments: object, times: int = 1) -> Any:
        return invoke("eval", written("cases.yaml", cases), "--times", times, *arguments)

    return call


def parts(stdout: str) -> tuple[str, EvalReport, Comparison | None]:
    printed = json.loads(stdout)
    compared = printed["compared"]
    return (
        printed["status"],
        EvalReport.model_validate(printed["report"]),
        Comparison.model_validate(compared) if compared else None,
    )


def test_the_table_has_each_case_and_a_line_says_what_failed(evaluated: Callable[..., Any]) -> None:
    result = evaluated(CASES, times=2)
    assert result.exit_code == 1, result.stderr
    lines = result.stdout.splitlines()
    assert any(line.split()[:2] == ["good", "2/2"] and line.endswith("new") for line in lines)
    assert any(line.split()[:2] == ["bad", "0/2"] for line in lines)
    (first, second) = [line for line in lines if line.startswith("bad [")]
    assert "words: missing: milk; max_tokens: " in first
    assert second.startswith("bad [2]: ")
    assert "good, run 1 of 2: passed in " in result.stderr


def test_json_alone_is_on_standard_output_and_the_report_is_kept(
    evaluated: Callable[..., Any], swarm_home: Path
) -> None:
    result = evaluated(ONE_CASE, "--json", times=2)
    assert result.exit_code == 0, result.stderr
    status, report, compared = parts(result.stdout)
    assert (status, report.finished, compared) == ("passed", True, None)
    assert [run.number for run in report.runs] == [1, 2]
    assert len({run.run_id for run in report.runs}) == 2
    (path,) = (swarm_home / "evals" / "tests").iterdir()
    assert load_report(path) == report
    assert str(path) in result.stderr


def test_what_got_worse_since_the_last_report_is_told_and_counts_if_strict(
    evaluated: Callable[..., Any],
) -> None:
    assert evaluated(ONE_CASE).exit_code == 0
    with override_models(worker=answering("Coffee.")):
        worse = evaluated(ONE_CASE)
    assert worse.exit_code == 1
    assert "good: passes 100%, now 0%" in worse.stdout
    better = evaluated(ONE_CASE, "--strict", "--json")
    assert better.exit_code == 0
    _, _, compared = parts(better.stdout)
    assert compared is not None
    assert compared.worse == ()


def test_a_report_of_any_time_is_a_baseline(
    evaluated: Callable[..., Any], swarm_home: Path, tmp_path: Path
) -> None:
    _, report, _ = parts(evaluated(ONE_CASE, "--json", times=2).stdout)
    runs = [run.model_copy(update={"tokens": 1}) for run in report.runs]
    case = report.cases[0].model_copy(update={"runs": tuple(runs)})
    earlier = report.model_copy(update={"cases": (case,), "started_at": 1.0})
    (path := tmp_path / "earlier.json").write_text(earlier.model_dump_json(), "utf-8")
    for arguments, code in (((), 0), (("--strict",), 1)):
        result = evaluated(ONE_CASE, "--baseline", path, *arguments, times=2)
        assert result.exit_code == code, result.stderr
        assert "good: tokens 1, now " in result.stdout


@pytest.mark.parametrize("passed", [True, False])
def test_a_judge_decides(evaluated: Callable[..., Any], passed: bool) -> None:
    judge = f"{{rubric: It names tea., model: '{judging(passed=passed)}'}}"
    result = evaluated(
        f"cases: [{{name: a, plan: plan.json, checks: {{judge: {judge}}}}}]", "--json"
    )
    status, report, _ = parts(result.stdout)
    (run,) = report.runs
    assert (status, run.passed) == ("passed" if passed else "failed", passed)
    assert run.judge_tokens > 0
    if not passed:
        assert run.verdicts[-1].reason == "It names tea."


def test_a_judge_that_says_nothing_fails_the_run_and_not_the_evaluation(
    evaluated: Callable[..., Any],
) -> None:
    cases = f"cases: [{{name: a, plan: plan.json, checks: {{judge: x}}}}, {ONE_CASE[20:-1]}]"
    _, report, _ = parts(evaluated(cases, "--json").stdout)
    judged, other = report.cases
    (verdict,) = [each for each in judged.runs[0].verdicts if not each.passed]
    assert verdict.check == "judge"
    assert verdict.reason.startswith("it can't be checked: ")
    assert other.passes == 1


def test_a_run_that_fails_is_a_failed_case_with_the_reason(evaluated: Callable[..., Any]) -> None:
    with override_models(worker=answering("")):
        result = evaluated(ONE_CASE, "--json", "--max-attempts", "1")
    assert result.exit_code == 1
    _, report, _ = parts(result.stdout)
    (run,) = report.runs
    assert (run.status, run.passed) == ("failed", False)
    assert [each.check for each in run.verdicts] == ["run"]
    assert run.verdicts[0].reason.startswith("No step succeeded.")


def test_an_answer_is_asked_for_as_the_schema_has_it(evaluated: Callable[..., Any]) -> None:
    schema = "{type: object, required: [tea]}"
    with override_models(worker=answering('{"tea": 1}'), orchestrator=answering('{"tea": 1}')):
        result = evaluated(f"cases: [{{name: a, plan: plan.json, checks: {{schema: {schema}}}}}]")
    assert result.exit_code == 0, result.stdout


def test_runs_leave_the_memory_alone_unless_the_file_wants_it(
    evaluated: Callable[..., Any], swarm_home: Path
) -> None:
    evaluated(ONE_CASE)
    assert not [*swarm_home.glob("memory/**/*.sqlite*")]
    evaluated(f"memory: true\n{ONE_CASE}")
    assert [*swarm_home.glob("memory/**/*")]


def test_ctrl_c_keeps_what_is_done_and_compares_nothing_with_it(
    evaluated: Callable[..., Any], swarm_home: Path
) -> None:
    asked: list[int] = []

    async def once(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        asked.append(1)
        if len(asked) > 1:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        return ModelResponse(parts=[TextPart("Tea.")])

    with override_models(worker=FunctionModel(once)):
        result = evaluated(ONE_CASE, times=3)
    assert result.exit_code == 130
    assert "Cancelled after 1 run of 3." in result.stderr
    (path,) = (swarm_home / "evals" / "tests").iterdir()
    assert str(path) in result.stderr
    left = load_report(path)
    assert (left.finished, [run.passed for run in left.runs]) == (False, [True])
    assert evaluated(ONE_CASE).stdout.splitlines()[-1].startswith("There is no earlier report")
