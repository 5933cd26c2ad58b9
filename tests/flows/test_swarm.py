"""An objective becomes a flow run and comes back as an answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
)
from prefect.client.schemas.objects import Artifact, State, TaskRun, TaskRunResult
from prefect_swarm.blocks.models import override_models
from prefect_swarm.errors import InputError, PlanError, RunFailedError
from prefect_swarm.flows.control import Progress, RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.result import SwarmResult
from prefect_swarm.runs import Run, find_run
from prefect_swarm.task_ir import TaskIR, parse_plan
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def plan_of(*steps: dict[str, Any], **fields: Any) -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]
    filled = [{"agent": "Reader", "prompt": f"do {step['id']}", **step} for step in steps]
    return parse_plan({"objective": "Find out", "agents": agents, "steps": filled, **fields})


def run(plan: TaskIR, **options: Any) -> SwarmResult:
    return asyncio.run(swarm("Find out", plan=plan, options=SwarmOptions(**options)))


async def end_of(plan: TaskIR, **options: Any) -> State[Any]:
    flow: Any = swarm  # Prefect's annotations deny that the state of an async flow is awaited
    return await flow("Find out", plan=plan, options=SwarmOptions(**options), return_state=True)


def steps_of(result: SwarmResult) -> dict[str, Any]:
    return {step.id: step for step in result.steps}


async def _task_runs(flow_run_id: str) -> list[TaskRun]:
    async with get_client() as client:
        only = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
        while True:
            runs = await client.read_task_runs(flow_run_filter=only, limit=200)
            # The server hears of task runs by events, a moment after they happened.
            if runs and all(run.state is not None and run.state.is_final() for run in runs):
                return runs
            await asyncio.sleep(0.1)


def task_runs(flow_run_id: str) -> dict[str, TaskRun]:
    found = asyncio.run(asyncio.wait_for(_task_runs(flow_run_id), 60))
    return {run.name: run for run in found}


def pages(flow_run_id: str) -> dict[str, str]:
    async def read() -> list[Artifact]:
        only = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[UUID(flow_run_id)]))
        async with get_client() as client:
            return await client.read_artifacts(artifact_filter=only)

    return {(page.key or "").rsplit("-", 1)[0]: str(page.data) for page in asyncio.run(read())}


UNEVEN = (
    {"id": "S1"},
    {"id": "S2"},
    {"id": "S3", "depends_on": ["S1"]},
    {"id": "S4", "depends_on": ["S3", "S2"]},
)


def test_a_step_reads_its_dependencies_labelled_and_nothing_else() -> None:
    with scripted(Script(lambda prompt: f"<{prompt.split()[-1]}>")) as script:
        result = run(plan_of(*UNEVEN))
    assert result.status == "completed"
    assert sorted(script.prompts) == sorted(
        [
            "do S1",
            "do S2",
            "Result of S1 (Reader):\n<S1>\n\ndo S3",
            "Result of S3 (Reader):\n<S3>\n\nResult of S2 (Reader):\n<S2>\n\ndo S4",
        ]
    )
    assert set(script.instructions) == {"You read closely."}
    assert result.answer == "<S4>"


def test_steps_that_need_nothing_run_at_once_up_to_the_limit() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(9)])
    with scripted(Script()) as script:
        run(plan, max_concurrency=4)
    assert script.most_at_once == 4


def test_a_tier_has_a_limit_of_its_own() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(6)])
    with scripted(Script()) as script:
        run(plan, max_concurrency=6, tier_concurrency={"worker": 2})
    assert script.most_at_once == 2


def test_each_attempt_is_a_task_run_with_the_edges_of_its_dependencies() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    runs = task_runs(result.flow_run_id)
    assert sorted(runs) == [f"S{n} · Reader · attempt 1" for n in (1, 2, 3, 4)]
    edges = runs["S4 · Reader · attempt 1"].task_inputs["wait_for"]
    needed = {str(item.id) for item in edges if isinstance(item, TaskRunResult)}
    assert needed == {str(runs[f"S{n} · Reader · attempt 1"].id) for n in (2, 3)}
    tags = ["S1", "agent: Reader", "swarm", "tier: worker"]
    assert sorted(runs["S1 · Reader · attempt 1"].tags) == tags


def test_the_answer_is_synthesised_from_the_last_steps_bounded() -> None:
    def reply(prompt: str) -> str:
        return "the whole answer" if "Write the final answer" in prompt else "x" * 900

    with scripted(Script(reply)) as script:
        result = run(plan_of({"id": "S1"}, {"id": "S2"}), max_input_chars=400)
    assert result.answer == "the whole answer"
    asked = script.prompts[-1]
    assert "Objective: Find out" in asked
    assert asked.count("more characters]") == 2
    assert asked.count("x") < 400
    assert "Answer · orchestrator" in task_runs(result.flow_run_id)


def test_a_final_step_is_the_answer_as_it_stands() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"}, final_step="S1")
    with scripted(Script(lambda prompt: prompt.upper())) as script:
        result = run(plan)
    assert result.answer == "DO S1"
    assert len(script.prompts) == 2


def test_a_failed_gate_feeds_its_diagnostics_to_the_next_attempt() -> None:
    def reply(prompt: str) -> str:
        return '{"n": 1}' if "not accepted" in prompt else '{"n": "one"}'

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    plan = plan_of({"id": "S1", "output": {"kind": "json", "schema": schema}})
    with scripted(Script(reply)) as script:
        result = run(plan)
    assert result.answer == '{"n": 1}'
    first, second = result.steps[0].attempts
    assert first.category == "SCHEMA"
    assert first.decision is not None
    assert (first.decision.action, first.decision.tier) == ("RETRY", "worker")
    assert second.category is None
    assert "$.n: 'one' is not of type 'integer'" in script.prompts[1]
    names = task_runs(result.flow_run_id)
    assert names["S1 · gate schema · attempt 1"].state_name == "Failed"
    assert names["S1 · gate schema · attempt 2"].state_name == "Completed"


def test_a_failure_skips_what_depends_on_it_and_the_rest_goes_on() -> None:
    with scripted(Script(lambda prompt: "" if "do S1" in prompt else "fine")):
        result = run(plan_of(*UNEVEN), max_attempts=2)
    steps = steps_of(result)
    assert result.status == "partial"
    assert {name: step.status for name, step in steps.items()} == {
        "S1": "failed",
        "S2": "succeeded",
        "S3": "skipped",
        "S4": "skipped",
    }
    assert steps["S3"].category == "UPSTREAM"
    assert "S1" in steps["S3"].reason
    assert [attempt.category for attempt in steps["S1"].attempts] == ["FORMAT", "FORMAT"]
    assert result.answer == "fine"
    assert "S1: FORMAT" in result.problem


def test_a_partial_run_is_a_completed_state_of_that_name() -> None:
    with scripted(Script(lambda prompt: "" if "do S1" in prompt else "fine")):
        plan = plan_of({"id": "S1"}, {"id": "S2"})
        state = asyncio.run(end_of(plan, max_attempts=1))
    assert (state.type.value, state.name) == ("COMPLETED", "Partial")


def test_an_optional_step_may_fail() -> None:
    plan = plan_of({"id": "S1", "optional": True}, {"id": "S2", "depends_on": ["S1"]})
    with scripted(Script(lambda prompt: "" if prompt == "do S1" else "fine")) as script:
        result = run(plan, max_attempts=1)
    assert (result.status, result.answer) == ("completed", "fine")
    assert script.prompts[-1] == "do S2"


def test_a_run_without_any_success_fails_and_still_has_its_pages_and_result() -> None:
    with scripted(Script(lambda _: "")), pytest.raises(RunFailedError) as failure:
        run(plan_of(*UNEVEN), max_attempts=1)
    result = failure.value.result
    assert result is not None
    assert result.status == "failed"
    page = pages(result.flow_run_id)
    assert "S3 | Reader | do S3 | S1 | skipped | UPSTREAM: S1 did not succeed" in page["swarm-plan"]
    assert "is **failed**" in page["swarm-timeline"]
    assert find_run(result.run_id).result() == result


def test_the_plan_page_is_there_while_steps_wait_and_says_why() -> None:
    release = asyncio.Event()
    run_ids: list[str] = []

    def hear(progress: Progress) -> None:
        if progress.kind == "started":
            run_ids.append(progress.text)

    async def held(messages: Any, info: Any) -> ModelResponse:
        await release.wait()
        return ModelResponse(parts=[TextPart("done")])

    async def read_page() -> str:
        async with get_client() as client:
            while True:
                found = await client.read_artifacts()
                for page in found:
                    if run_ids and page.key == f"swarm-plan-{run_ids[0]}":
                        return str(page.data)
                await asyncio.sleep(0.05)

    async def look() -> str:
        plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
        model = FunctionModel(held)
        with (
            override_models(worker=model, coder=model, architect=model),
            controlled(RunControl(listener=hear)),
        ):
            flow = asyncio.create_task(swarm("Find out", plan=plan))
            page = await asyncio.wait_for(read_page(), 60)
            release.set()
            await flow
        return page

    page = asyncio.run(look())
    assert "flowchart LR" in page
    assert "S2 | Reader | do S2 | S1 | waiting | waits for S1" in page


def test_the_timeline_marks_the_critical_path_and_gives_slack() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    steps = steps_of(result)
    assert steps["S4"].critical
    assert steps["S4"].slack_s == 0
    assert not (steps["S2"].critical and steps["S1"].critical)
    page = pages(result.flow_run_id)["swarm-timeline"]
    assert "* S4 Reader" in page
    assert "█" in page
    assert "Critical path: **S" in page
    assert result.metrics.critical_steps == 3  # S1, S3, S4: nobody planned or synthesised
    assert result.metrics.critical_path_s <= result.metrics.work_s


def test_tokens_are_counted_and_stop_the_launch_that_would_exceed_them() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with scripted(Script(lambda _: "word " * 40)) as script:
        result = run(plan, max_tokens=160, max_output_tokens=100)
    steps = steps_of(result)
    assert (steps["S1"].status, steps["S2"].status) == ("succeeded", "failed")
    assert steps["S2"].category == "BUDGET"
    spent = steps["S1"].attempts[0].usage.tokens
    assert f"{spent} spent" in steps["S2"].reason
    assert "more than 160" in steps["S2"].reason
    assert len(script.prompts) == 1
    assert result.cost.tokens == spent


def test_a_model_that_never_stops_is_a_timeout() -> None:
    plan = plan_of({"id": "S1", "timeout_s": 0.01})
    with (
        scripted(Script()),
        pytest.raises(RunFailedError, match=r"S1 was not answered within 0.01"),
    ):
        run(plan)


def test_the_end_of_the_run_is_a_budget_not_a_slow_step() -> None:
    with scripted(Script()), pytest.raises(RunFailedError) as failure:
        run(plan_of({"id": "S1"}), timeout_s=0.01)
    assert failure.value.result is not None
    assert failure.value.result.steps[0].category == "BUDGET"


def test_a_timeout_escalates_to_a_tier_with_another_model() -> None:
    quick = Script(lambda _: "from the coder").model("quick")
    plan = plan_of({"id": "S1", "timeout_s": 2})

    async def never(messages: Any, info: Any) -> Any:
        await asyncio.Event().wait()

    models = {"worker": FunctionModel(never), "coder": quick, "architect": quick}
    with override_models(**models):
        result = run(plan, worker="slow", coder="quick", architect="quick")
    assert result.answer == "from the coder"
    first, second = result.steps[0].attempts
    assert first.decision is not None
    assert (first.category, first.decision.action) == ("TIMEOUT", "ESCALATE")
    assert (first.tier, second.tier) == ("worker", "coder")


def test_a_transport_error_is_retried_by_prefect_within_the_attempt() -> None:
    calls: list[str] = []

    def reply(prompt: str) -> str | Exception:
        calls.append(prompt)
        return ModelConnectionError("far away", "no route") if len(calls) == 1 else "there"

    with scripted(Script(reply)):
        result = run(plan_of({"id": "S1"}))
    assert result.answer == "there"
    assert len(calls) == 2
    assert len(result.steps[0].attempts) == 1


def test_a_refused_request_is_not_retried() -> None:
    with scripted(Script(lambda _: ModelHTTPError(401, "far away"))) as script:
        with pytest.raises(RunFailedError, match="401"):
            run(plan_of({"id": "S1"}), max_attempts=1)
        assert len(script.prompts) == 1


def test_whole_outputs_and_transcripts_are_stored_once_by_reference() -> None:
    long = "y" * 3000
    with scripted(Script(lambda _: long)):
        result = run(plan_of({"id": "S1"}))
    step = result.steps[0]
    assert len(step.excerpt) < 600
    assert step.output_ref == f"{result.run_id}/outputs/S1.txt"
    stored = find_run(result.run_id)
    assert stored.read("outputs/S1.txt") == long
    transcript = json.loads(stored.read("transcripts/S1.1.json") or "")
    assert transcript[0]["parts"][0]["content"] == "do S1"


def test_a_step_waits_for_tokens_that_others_only_reserve() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(4)])
    with scripted(Script(lambda _: "short")) as script:
        result = run(plan, max_tokens=900, max_output_tokens=256)
    assert [step.status for step in result.steps] == ["succeeded"] * 4
    assert script.most_at_once < 4


def test_a_refused_request_spends_no_tokens() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]}, {"id": "S3"})
    plan = plan.model_copy(
        update={"steps": tuple(s.model_copy(update={"optional": True}) for s in plan.steps)}
    )

    def reply(prompt: str) -> str | Exception:
        return ModelHTTPError(401, "far away") if prompt == "do S1" else "fine"

    with scripted(Script(reply)):
        result = run(plan, max_tokens=530, max_output_tokens=250, max_attempts=1)
    assert steps_of(result)["S2"].status == "succeeded"


def test_inputs_constraints_and_the_definition_of_done_reach_the_models() -> None:
    plan = plan_of(
        {"id": "S1"},
        {"id": "S2"},
        inputs={"report": "all went well"},
        constraints=["be brief"],
        assumptions=["it is Monday"],
        definition_of_done=["both are named"],
    )
    with scripted(Script()) as script:
        run(plan)
    assert script.prompts[0] == "Input report:\nall went well\n\ndo S1"
    told = "You read closely.\nKeep to this: be brief\nTake this for granted: it is Monday"
    assert script.instructions[0] == told
    assert "It is done when: both are named" in script.prompts[-1]


def test_trouble_that_nobody_foresaw_costs_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(run: Run, name: str, content: Any) -> str:
        if name == "outputs/S1.txt":
            raise OSError("no space left")
        return write(run, name, content)

    write = Run.write
    monkeypatch.setattr(Run, "write", full)
    with scripted(Script()):
        result = run(plan_of({"id": "S1"}, {"id": "S2"}))
    steps = steps_of(result)
    assert (steps["S1"].status, steps["S1"].category) == ("failed", "INFRASTRUCTURE")
    assert "no space left" in steps["S1"].reason
    assert steps["S2"].status == "succeeded"


def test_a_partial_run_can_have_its_failed_steps_tried_again() -> None:
    answers = {"do S1": ""}
    plan = plan_of({"id": "S1"}, {"id": "S2"}, {"id": "S3", "depends_on": ["S1"]})
    with scripted(Script(lambda prompt: answers.get(prompt, "fine"))) as script:
        first = run(plan, max_attempts=1)
        answers.clear()
        assert asyncio.run(resume(first.run_id)) == first
        again = asyncio.run(resume(first.run_id, retry_failed=True))
    assert (first.status, again.status) == ("partial", "completed")
    assert script.prompts.count("do S1") == 2
    assert script.prompts.count("do S2") == 1


def test_the_result_survives_json() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    assert SwarmResult.model_validate_json(result.model_dump_json()) == result


def test_an_empty_objective_is_refused() -> None:
    with scripted(Script()), pytest.raises(InputError, match="objective is empty"):
        asyncio.run(swarm("  "))


def test_a_plan_with_more_steps_than_allowed_is_refused_with_the_figures() -> None:
    with scripted(Script()), pytest.raises(PlanError, match="4 steps are more than the limit of 3"):
        run(plan_of(*UNEVEN), max_steps=3)


def test_a_gate_that_does_not_exist_is_refused() -> None:
    plan = plan_of({"id": "S1", "gates": ["shiny"]})
    with scripted(Script()), pytest.raises(PlanError, match="unknown gate 'shiny'"):
        run(plan)


def test_a_cancelled_run_ends_as_cancelled_and_stops_what_runs(swarm_home: Path) -> None:
    async def cancel() -> Any:
        control = RunControl(
            listener=lambda progress: control.cancel.set() if progress.kind == "launched" else None
        )
        with scripted(Script()), controlled(control):
            return await end_of(plan_of(*UNEVEN))

    state = asyncio.run(cancel())
    assert state.type.value == "CANCELLED"
    assert list(swarm_home.glob("runs/*/result.json")) == []


@pytest.mark.parametrize("kind", ["started", "synthesising"])
def test_a_run_can_be_cancelled_while_the_orchestrator_is_at_work(
    kind: str, swarm_home: Path
) -> None:
    async def never(messages: Any, info: Any) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def cancel() -> State[Any]:
        control = RunControl(
            listener=lambda progress: control.cancel.set() if progress.kind == kind else None
        )
        worker = Script().model()
        held = override_models(
            worker=worker, coder=worker, architect=worker, orchestrator=FunctionModel(never)
        )
        plan = None if kind == "started" else plan_of({"id": "S1"}, {"id": "S2"})
        flow: Any = swarm
        with held, controlled(control):
            return await flow("Find out", plan=plan, return_state=True)

    assert asyncio.run(cancel()).type.value == "CANCELLED"
    assert list(swarm_home.glob("runs/*/result.json")) == []
