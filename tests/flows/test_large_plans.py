"""A plan that a flow run's parameters have no room for goes the way of the run's folder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import SwarmOptions, fork, resume, swarm, swarm_batch, swarm_flow
from prefect_swarm.errors import InputError
from prefect_swarm.flows.run_inputs import IN_FOLDER, MOST_BYTES, within_limit
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted
from two_machines import execute, flow_run_of, scheduled

OPTIONS: dict[str, Any] = {"memory": False, "pages": False, "max_attempts": 1}
LONG = "Read this closely. " * 160


def _large(steps: int = 250) -> TaskIR:
    """Return a legal plan that takes more than half a megabyte."""
    ids = [f"S{n}" for n in range(1, steps)]
    prompts = [{"id": name, "prompt": f"{LONG}{name}"} for name in ids]
    return plan_of(*prompts, {"id": f"S{steps}", "depends_on": ids[:3], "prompt": "the end"})


def _few_but_long() -> TaskIR:
    return plan_of(
        {"id": "S1", "prompt": "x" * 300_000},
        {"id": "S2", "prompt": "y" * 300_000},
        {"id": "S3", "prompt": "the end", "depends_on": ["S1", "S2"]},
    )


def _run(plan: TaskIR) -> SwarmResult:
    return asyncio.run(swarm(plan.objective, plan=plan, options=SwarmOptions(**OPTIONS)))


class TestReferences:
    def test_small_parameters_are_as_they_were(self) -> None:
        given = {"objective": "o", "plan": {"steps": []}, "inputs": {"a": "b"}}
        assert within_limit(given) == given

    def test_a_large_plan_is_named_by_its_hash(self) -> None:
        given: dict[str, Any] = {"objective": "o", "plan": {"x": "y" * MOST_BYTES}, "inputs": None}
        short = within_limit(given)
        assert [*short["plan"]] == ["in_folder"]
        assert within_limit({**given, "plan": {"x": "z" * MOST_BYTES}}) != short

    def test_large_inputs_are_left_to_the_folder(self) -> None:
        given = {"objective": "o", "plan": None, "inputs": {"a": "b" * MOST_BYTES}}
        assert [*within_limit(given)["inputs"]] == [IN_FOLDER]


@pytest.mark.usefixtures("prefect_server", "swarm_home")
class TestRuns:
    @pytest.mark.slow
    def test_a_plan_of_many_long_steps_is_run(self) -> None:
        plan = _large()
        assert len(plan.model_dump_json()) > 524_288
        with scripted(Script(lambda _: "It is read.")) as script:
            result = _run(plan)
        assert result.status == "completed", result.problem
        assert len(script.prompts) >= 250

    def test_it_is_resumed_with_the_plan_that_it_has(self) -> None:
        plan = _few_but_long()
        refused = Script(lambda _: ModelHTTPError(401, "far"))
        with scripted(refused), pytest.raises(RunFailedError) as caught:
            _run(plan)
        assert caught.value.result is not None
        run = RunFolder.of(caught.value.result.flow_run_id)
        (run.folder / "planned.json").unlink()
        with scripted(Script()):
            result = asyncio.run(resume(run.run_id))
        assert (result.status, result.plan) == ("completed", plan)

    def test_a_fork_may_have_one(self) -> None:
        small = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
        with scripted(Script()):
            before = _run(small)
        last = {"id": "S2", "depends_on": ["S1"], "prompt": "z" * 600_000}
        with scripted(Script()) as script:
            result = asyncio.run(fork(before.run_id, plan=plan_of({"id": "S1"}, last)))
        assert result.status == "completed"
        assert len(script.prompts) == 1

    def test_large_inputs_of_the_flow_are_taken(self) -> None:
        plan = plan_of({"id": "S1"})
        with scripted(Script(lambda _: "It is read.")):
            flow: Any = swarm_flow
            result = asyncio.run(
                flow(
                    plan.objective,
                    plan=plan,
                    inputs={"book": "word " * 120_000},
                    options=SwarmOptions(**OPTIONS),
                )
            )
        assert len(result.plan.inputs["book"]) == 600_000

    def test_a_line_of_a_batch_may_have_one(self, tmp_path: Path) -> None:
        lines, results = tmp_path / "lines.jsonl", tmp_path / "results.jsonl"
        lines.write_text(_few_but_long().model_dump_json())
        with scripted(Script()):
            summary = asyncio.run(swarm_batch(str(lines), str(results), SwarmOptions(**OPTIONS)))
        assert summary.completed == 1

    def test_a_deployment_takes_the_path_of_a_file(self, tmp_path: Path) -> None:
        plan, path = _few_but_long(), tmp_path / "plan.json"
        path.write_text(plan.model_dump_json())
        run = scheduled({"objective": plan.objective, "plan": str(path), "options": OPTIONS})
        with scripted(Script()):
            result = execute(run.id)
        assert (result.status, result.plan) == ("completed", plan)
        assert flow_run_of(run.id).parameters["plan"] == str(path)

    def test_a_plan_that_isnt_there_any_more_is_named(self) -> None:
        run = scheduled({"objective": "o", "plan": {"in_folder": "0123"}, "options": OPTIONS})
        with pytest.raises(InputError, match="too large for a flow run's parameters"):
            execute(run.id)

    def test_what_the_server_refuses_is_said_in_short(self) -> None:
        objective = "Find " * 200_000
        with scripted(Script()), pytest.raises(InputError) as caught:
            asyncio.run(swarm(objective, options=SwarmOptions(**OPTIONS)))
        assert "refuses the run's parameters" in str(caught.value)
        assert len(str(caught.value)) < 1000
