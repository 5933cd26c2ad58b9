"""The cost of a failure, an exceeded budget or a cancellation is bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from flow_runs import UNEVEN, end_of, pages, plan_of, run, steps_of
from prefect.client.schemas.objects import State
from prefect_swarm.errors import Category, InputError, PlanError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import FunctionModel
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

UNFORGIVING = Policy(rules={Category.INFRASTRUCTURE: ()})


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
    skipped = [line for line in page["swarm-plan"].splitlines() if line.startswith("| skipped |")]
    assert skipped[0].endswith("| S1 | UPSTREAM: S1 did not succeed |")
    assert "**failed** · 4 steps" in page["swarm-timeline"]
    assert "**failed** · 4 steps" in page["swarm-answer"]
    assert RunFolder.find(result.run_id).result() == result


def test_tokens_are_counted_and_stop_the_launch_that_would_exceed_them() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with scripted(Script(lambda _: " ".join(f"word{n}" for n in range(40)))) as script:
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
        scripted(Script(together=2)),
        pytest.raises(RunFailedError, match=r"S1 was not answered within 0.01"),
    ):
        run(plan, policy=Policy(rules={Category.TIMEOUT: ()}))


def test_the_end_of_the_run_is_a_budget_not_a_slow_step() -> None:
    with scripted(Script(together=2)), pytest.raises(RunFailedError) as failure:
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
            run(plan_of({"id": "S1"}), policy=UNFORGIVING)
        assert len(script.prompts) == 1


def test_a_step_waits_for_tokens_that_others_only_reserve() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(4)])
    with scripted(Script(lambda _: "short", together=3)) as script:
        result = run(plan, max_tokens=900, max_output_tokens=256)
    assert {step.id: step.status for step in result.steps} == dict.fromkeys(
        ["S1", "S1[1]", "S1[2]", "S1[3]", "S1[4]"], "succeeded"
    )
    assert script.most_at_once == 3


def test_a_refused_request_spends_no_tokens() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]}, {"id": "S3"})
    plan = plan.model_copy(
        update={"steps": tuple(s.model_copy(update={"optional": True}) for s in plan.steps)}
    )

    def reply(prompt: str) -> str | Exception:
        return ModelHTTPError(400, "far away") if prompt == "do S1" else "fine"

    with scripted(Script(reply)):
        result = run(plan, max_tokens=530, max_output_tokens=250, policy=UNFORGIVING)
    assert steps_of(result)["S2"].status == "succeeded"


def test_an_unexpected_error_fails_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(run: RunFolder, name: str, content: Any) -> str:
        if name == "outputs/S1.txt":
            raise OSError("no space left")
        return write(run, name, content)

    write = RunFolder.write
    monkeypatch.setattr(RunFolder, "write", full)
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


def test_an_empty_objective_is_refused() -> None:
    with scripted(Script()), pytest.raises(InputError, match="objective is empty"):
        asyncio.run(swarm("  "))


def test_an_objective_that_is_not_the_plans_is_refused_with_both() -> None:
    plan = plan_of({"id": "S1"})
    both = "'Look away' is not the plan's, 'Find out'"
    with scripted(Script()) as script, pytest.raises(InputError, match=both):
        asyncio.run(swarm("Look away", plan=plan))
    assert script.prompts == []


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
            listener=lambda event: control.cancel.set() if event.kind == "started" else None
        )
        with scripted(Script()), controlled(control):
            return await end_of(plan_of(*UNEVEN))

    state = asyncio.run(cancel())
    assert state.type.value == "CANCELLED"
    assert list(swarm_home.glob("runs/*/result.json")) == []


@pytest.mark.parametrize("kind", ["began", "answering"])
def test_a_run_can_be_cancelled_while_the_orchestrator_is_at_work(
    kind: str, swarm_home: Path
) -> None:
    async def never(messages: Any, info: Any) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def cancel() -> State[Any]:
        control = RunControl(
            listener=lambda event: control.cancel.set() if event.kind == kind else None
        )
        worker = Script().model()
        held = override_models(
            worker=worker, coder=worker, architect=worker, orchestrator=FunctionModel(never)
        )
        plan = None if kind == "began" else plan_of({"id": "S1"}, {"id": "S2"})
        flow: Any = swarm
        with held, controlled(control):
            return await flow("Find out", plan=plan, return_state=True)

    assert asyncio.run(cancel()).type.value == "CANCELLED"
    assert list(swarm_home.glob("runs/*/result.json")) == []
