"""A swarm in flows and tasks of a user's: its own runs, their time-outs and their cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from held_runs import heard, held_run, started
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import FlowRun
from prefect_swarm import SwarmOptions, resume, swarm, swarm_flow, swarm_sync
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.folder import RunFolder
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OPTIONS = SwarmOptions(memory=False)
THINGS = ["a train", "a bus", "a ferry"]
ANSWERS = [f"about: describe {thing}" for thing in THINGS]


def plan_for(thing: str, *later: str) -> TaskIR:
    steps = [{"id": "S1", "prompt": f"describe {thing}"}]
    steps += [
        {"id": f"S{number}", "prompt": prompt, "depends_on": [f"S{number - 1}"]}
        for number, prompt in enumerate(later, 2)
    ]
    return plan_of(*steps).model_copy(update={"objective": f"Describe {thing}"})


class Holding(Script):
    """Never answers what ends with `wait`."""

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = await super().__call__(messages, info)
        if self.prompts[-1].endswith("wait"):
            await asyncio.Event().wait()
        return reply


async def described(thing: str) -> str:
    plan = plan_for(thing)
    return (await swarm(plan.objective, plan=plan, options=OPTIONS)).answer


def answer(prompt: str) -> str:
    return f"about: {prompt.splitlines()[-1]}"


async def runs_named(name: str) -> list[FlowRun]:
    async with get_client() as client:
        only = FlowRunFilter(name=FlowRunFilterName(any_=[name]))
        return await client.read_flow_runs(flow_run_filter=only)


def test_several_subflows_run_side_by_side() -> None:
    @flow
    async def outer() -> list[str]:
        return list(await asyncio.gather(*map(described, THINGS)))

    with scripted(Script(answer, together=len(THINGS))) as script:
        assert asyncio.run(outer()) == ANSWERS
    assert script.most_at_once == len(THINGS)


def test_the_flow_itself_is_a_subflow_like_any_other() -> None:
    @flow
    async def outer() -> str:
        plan = plan_for("a tram")
        called: Any = swarm_flow
        return (await called(plan.objective, plan=plan.model_dump(), options=OPTIONS)).answer

    with scripted(Script(answer)):
        assert asyncio.run(outer()) == "about: describe a tram"


def test_async_tasks_are_mapped_over_objectives() -> None:
    @task
    async def each(thing: str) -> str:
        return await described(thing)

    @flow
    async def outer() -> list[str]:
        futures: list[Any] = [*each.map(THINGS)]
        return [future.result() for future in futures]

    with scripted(Script(answer)):
        assert asyncio.run(outer()) == ANSWERS


def test_tasks_that_are_not_async_are_mapped_over_objectives() -> None:
    @task
    def each(thing: str) -> str:
        plan = plan_for(thing)
        return swarm_sync(plan.objective, plan=plan, options=OPTIONS).answer

    @flow
    def outer() -> list[str]:
        return each.map(THINGS).result()

    with scripted(Script(answer)):
        assert outer() == ANSWERS


def test_after_a_worker_cancels_the_flow_around_it_a_swarm_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    plan = plan_of(
        {"id": "S1", "prompt": "do: one"},
        {"id": "S2", "prompt": "do: wait", "depends_on": ["S1"]},
    ).model_copy(update={"objective": held_run.OBJECTIVE})
    (path := tmp_path / "plan.json").write_text(plan.model_dump_json(), "utf-8")
    calls = tmp_path / "calls"
    with started(f"nested:{path}", calls, "wait") as process:
        name = heard(process, "called wait", "succeeded S1")
        # Which is how a worker cancels what it started.
        process.terminate()
        process.communicate(timeout=120)
    result = asyncio.run(held_run.go_on(name, calls))
    assert result.status == "completed"
    assert calls.read_text("utf-8").splitlines() == ["one", "wait", "wait"]


async def _of_flow(work: Callable[[], Coroutine[Any, Any, str]]) -> str:
    return await flow(timeout_seconds=12)(work)()


async def _of_task(work: Callable[[], Coroutine[Any, Any, str]]) -> str:
    async def outer() -> str:
        return await task(timeout_seconds=12)(work)()

    return await flow(outer)()


@pytest.mark.parametrize("timed", [_of_flow, _of_task])
def test_after_a_time_out_around_it_a_swarm_goes_on_where_it_was(
    timed: Callable[[Callable[[], Coroutine[Any, Any, str]]], Coroutine[Any, Any, str]],
) -> None:
    plan = plan_for(f"time {timed.__name__}", "wait")

    async def waits() -> str:
        return (await swarm(plan.objective, plan=plan, options=OPTIONS)).answer

    with scripted(Holding(answer)), pytest.raises(TimeoutError):
        asyncio.run(timed(waits))
    (run,) = asyncio.run(runs_named(plan.objective))
    # What Prefect calls a subflow that its own flow was stopped around.
    assert run.state_name == "Crashed"
    assert [*RunFolder.find(str(run.id)).finished_steps()] == ["S1"]
    with scripted(Script(answer)) as again:
        result = asyncio.run(resume(str(run.id)))
    assert result.status == "completed"
    assert len(again.prompts) == 1
