"""Runs of `tests/flows/held_run.py` in processes of their own, and what the server has of them."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, StateType, TaskRun
from prefect.settings import get_current_settings
from prefect.states import Cancelling
from ready_scripts import ReadyScript, start_script

SCRIPT = Path(__file__).parents[1] / "flows" / "held_run.py"
_spec = importlib.util.spec_from_file_location("held_run", SCRIPT)
assert _spec is not None
assert _spec.loader is not None
held_run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(held_run)

__all__ = [
    "cancel_on_server",
    "flow_run_of",
    "heard",
    "held_run",
    "open_task_runs",
    "started",
    "task_runs_once",
]


@contextmanager
def started(*arguments: object, script: Path = SCRIPT, **variables: str) -> Generator[ReadyScript]:
    """Start a script against this test's server; it is killed at the end, if it still runs."""
    api = get_current_settings().api.url
    assert api is not None
    environment = {**os.environ, "PREFECT_API_URL": api, **variables}
    process = start_script(script, *arguments, environment=environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def heard(process: ReadyScript, *until: str) -> str:
    """Read what the run prints until all of that has come; return the run's id."""
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if set(until) <= set(lines):
            return next(line for line in lines if line.startswith("began ")).split()[1]
    raise AssertionError(f"it ended before it printed {until}: {lines}")


async def _all_task_runs(flow_run_id: str) -> list[TaskRun]:
    async with get_client() as client:
        only = FlowRunFilter(id=FlowRunFilterId(any_=[UUID(flow_run_id)]))
        return await client.read_task_runs(flow_run_filter=only, limit=200)


async def _task_runs_once(
    flow_run_id: str, ready: Callable[[list[TaskRun]], bool]
) -> list[TaskRun]:
    while True:
        found = await _all_task_runs(flow_run_id)
        if ready(found):
            return found
        # The server hears of task runs by events, a moment after they happened.
        await asyncio.sleep(0.1)


def task_runs_once(flow_run_id: str, ready: Callable[[list[TaskRun]], bool]) -> list[TaskRun]:
    """Return the task runs that the server has, once they are so."""
    return asyncio.run(asyncio.wait_for(_task_runs_once(flow_run_id, ready), 60))


def open_task_runs(runs: list[TaskRun]) -> list[str]:
    """The names of the task runs that the server takes for alive."""
    return sorted(r.name for r in runs if r.state is not None and not r.state.is_final())


def flow_run_of(flow_run_id: str) -> FlowRun:
    """What the server has of a flow run."""

    async def read() -> FlowRun:
        async with get_client() as client:
            return await client.read_flow_run(UUID(flow_run_id))

    return asyncio.run(read())


async def cancel_on_server(flow_run_id: str) -> Any:
    """Do what `prefect flow-run cancel` does."""
    async with get_client() as client:
        result = await client.set_flow_run_state(UUID(flow_run_id), Cancelling())
    assert result.state is not None
    assert result.state.type == StateType.CANCELLING
    return result
