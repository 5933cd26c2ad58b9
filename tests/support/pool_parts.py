"""Parts of a run on work pools: deployments for them, a plan with one, and its flow run."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from flow_runs import plan_of
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import FlowRun, State
from prefect.types.entrypoint import EntrypointType
from prefect_swarm.flows.swarm import swarm as swarm_flow
from prefect_swarm.plan.task_ir import TaskIR
from two_machines import ask_server

__all__ = ["deploy", "make_pool", "parts_of", "set_state", "small_plan"]


def small_plan(pool: str, objective: str, **part: Any) -> TaskIR:
    inner = [
        {"id": "S1", "agent": "Reader", "prompt": f"{objective}: inner one"},
        {
            "id": "S2",
            "agent": "Reader",
            "prompt": f"{objective}: inner two",
            "depends_on": ["S1"],
        },
    ]
    group = {"agent": "", "prompt": "", "depends_on": ["S1"], "plan": {"steps": inner}}
    return plan_of(
        {"id": "S1", "prompt": f"{objective}: one"},
        {"id": "S2", **group, "pool": pool, **part},
        {"id": "S3", "prompt": f"{objective}: last", "depends_on": ["S2"]},
        objective=objective,
    )


def make_pool(pool: str) -> None:
    made = WorkPoolCreate(name=pool, type="process")
    ask_server(lambda client: client.create_work_pool(made))


def deploy(pool: str) -> None:
    make_pool(pool)

    async def deploy_flow() -> None:
        by_module = EntrypointType.MODULE_PATH
        deployment = await swarm_flow.ato_deployment(
            pool, work_pool_name=pool, entrypoint_type=by_module
        )
        await deployment.aapply()

    asyncio.run(deploy_flow())


def parts_of(objective: str) -> list[FlowRun]:
    """Return the flow runs that do parts of a run, in the order of the parts."""
    runs = ask_server(lambda client: client.read_flow_runs())
    found = [run for run in runs if run.parameters["objective"] == objective]
    found = [run for run in found if run.parameters.get("fork")]
    return sorted(found, key=lambda run: run.parameters["fork"]["part"])


def set_state(flow_run: UUID, state: State[Any]) -> None:
    ask_server(lambda client: client.set_flow_run_state(flow_run, state, force=True))
