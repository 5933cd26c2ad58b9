"""The log of a flow run says what a person wants to know of it, and not how each task run ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pytest
from flow_runs import plan_of, run
from prefect import flow, get_run_logger, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.client.schemas.objects import Log
from prefect.runtime import flow_run
from prefect_swarm.flows.event_log import logged
from prefect_swarm.store.events import BeganEvent
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1", "output": {"kind": "json"}}, {"id": "S2", "depends_on": ["S1"]})


def json_at_last(prompt: str) -> str:
    return "{}" if "not accepted" in prompt else "no JSON"


def log_of(flow_run_id: str, last: str = "Finished in state Completed()") -> list[Log]:
    """The log that the server has of a flow run, once that line of it has come."""

    async def read() -> list[Log]:
        only = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[UUID(flow_run_id)]))
        async with get_client() as client:
            while True:
                found = await client.read_logs(only, limit=200)
                ends = [line for line in found if line.message == last]
                if any(line.name == "prefect.flow_runs" for line in ends):
                    return sorted(found, key=lambda line: line.timestamp)
                await asyncio.sleep(0.1)

    return asyncio.run(asyncio.wait_for(read(), 60))


def heads(lines: Iterable[Log]) -> list[str]:
    """The lines up to their first colon, which is before all figures."""
    return [line.message.partition(":")[0].partition(" after ")[0] for line in lines]


def test_the_server_has_a_line_for_what_happened_to_each_step_and_no_other() -> None:
    with scripted(Script(json_at_last)):
        result = run(PLAN)
    lines = log_of(result.flow_run_id)
    took = "finished in 0.0 s"
    assert [head.replace("0.1 s", "0.0 s") for head in heads(lines)] == [
        "Beginning flow run 'Find out' for flow 'swarm'",
        f"Run {result.run_id} begins",
        "Plan of 2 steps, 1 of them can start immediately\n  S1 Reader on worker\n"
        "  S2 Reader on worker, needs S1",
        "S1 Reader started",
        "S1 Reader, attempt 1",
        "S1 Reader is tried again",
        "S1 Reader started",
        f"S1 Reader {took}",
        "S2 Reader started",
        f"S2 Reader {took}",
        f"Run {result.run_id} is completed",
        "Finished in state Completed()",
    ]
    warned = [line.message for line in lines if line.level > logging.INFO]
    assert len(warned) == 1
    assert "1 gate failed (schema). FORMAT" in warned[0]


def test_the_log_has_no_prompt() -> None:
    with scripted(Script(json_at_last)):
        result = run(PLAN)
    lines = log_of(result.flow_run_id)
    assert not [line for line in lines if "do S1" in line.message or "read closely" in line.message]


@task
def add() -> int:
    get_run_logger().info("adding")
    return 1


@flow
def other_flow() -> str:
    add()
    return str(flow_run.id)


@flow
def quiet_flow(then: Any = None) -> str:
    with logged(str(flow_run.id)) as write:
        write(BeganEvent(run="abc"))
        add()
        other = other_flow() if then else ""
    add()
    return f"{flow_run.id} {other}"


def of_tasks(flow_run_id: str) -> list[str]:
    return [line.message for line in log_of(flow_run_id) if line.name == "prefect.task_runs"]


def test_only_the_ends_of_task_runs_are_left_out_and_only_inside() -> None:
    name, _ = quiet_flow().split(" ")
    assert of_tasks(name) == ["adding", "adding", "Finished in state Completed()"]


def test_the_task_runs_of_other_flows_keep_their_lines() -> None:
    _, other = quiet_flow(then=True).split(" ")
    assert of_tasks(other) == ["adding", "Finished in state Completed()"]


def test_with_logging_at_debug_all_lines_stay() -> None:
    logger = logging.getLogger("prefect.task_runs")
    before = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        name, _ = quiet_flow().split(" ")
    finally:
        logger.setLevel(before)
    assert of_tasks(name).count("Finished in state Completed()") == 2


def test_nothing_is_left_of_it_on_the_logger() -> None:
    before = [*logging.getLogger("prefect.task_runs").filters]
    quiet_flow()
    assert logging.getLogger("prefect.task_runs").filters == before
