"""Flow runs of a plan, and what the Prefect server knows of them."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
)
from prefect.client.schemas.objects import Artifact, State, TaskRun
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.result import SwarmResult


def plan_of(*steps: dict[str, Any], **fields: Any) -> TaskIR:
    agents = [{"name": "Reader", "system_prompt": "You read closely."}]
    filled = [{"agent": "Reader", "prompt": f"do {step['id']}", **step} for step in steps]
    return parse_plan({"objective": "Find out", "agents": agents, "steps": filled, **fields})


def run(plan: TaskIR, **options: Any) -> SwarmResult:
    return asyncio.run(swarm(plan.objective, plan=plan, options=SwarmOptions(**options)))


async def end_of(plan: TaskIR, **options: Any) -> State[Any]:
    flow: Any = swarm  # Prefect's annotations deny that the state of an async flow is awaited
    return await flow(plan.objective, plan=plan, options=SwarmOptions(**options), return_state=True)


def steps_of(result: SwarmResult) -> dict[str, Any]:
    return {step.id: step for step in result.steps}


async def flow_run_states(flow_run_id: str) -> list[State[Any]]:
    """Return a flow run's states, in their order."""
    async with get_client() as client:
        states = await client.read_flow_run_states(UUID(flow_run_id))
    return sorted(states, key=lambda state: state.timestamp)


async def _task_runs(flow_run_id: str, least: int) -> list[TaskRun]:
    async with get_client() as client:
        only = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
        while True:
            runs = await client.read_task_runs(flow_run_filter=only, limit=200)
            # The server hears of task runs by events, a moment after they happened.
            if len(runs) >= least and all(
                run.state is not None and run.state.is_final() for run in runs
            ):
                return runs
            await asyncio.sleep(0.1)


def task_runs(flow_run_id: str, *, least: int = 1) -> dict[str, TaskRun]:
    """The task runs by name, once there are so many and all are over."""
    found = asyncio.run(asyncio.wait_for(_task_runs(flow_run_id, least), 60))
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
