"""Task runs of a killed process end as Crashed on the server, when the run is resumed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from flow_runs import plan_of
from held_runs import heard, held_run, open_task_runs, started, task_runs_once
from prefect import flow, task
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import FlowRunContext
from prefect.states import Completed, Running
from prefect.utilities.engine import emit_task_run_state_change_event
from prefect_swarm.flows.prefect_io.task_runs import without_orphaned_task_runs
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.context import current_task

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of(
    {"id": "S1", "prompt": "do: one"},
    {"id": "S2", "prompt": "do: two"},
    {"id": "S3", "prompt": "do: three", "depends_on": ["S1"]},
    objective=held_run.OBJECTIVE,
)
HELD = ["S2, Reader, attempt 1", "S3, Reader, attempt 1"]

Body = Callable[[TaskRun], Awaitable[None]]


@pytest.mark.slow
def test_what_a_killed_run_left_open_has_crashed_when_it_is_resumed(tmp_path: Path) -> None:
    calls, plan = tmp_path / "calls", tmp_path / "plan.json"
    plan.write_text(json.dumps(PLAN.model_dump(mode="json")), "utf-8")
    with started(plan, calls, "two", "three") as process:
        name = heard(process, "called two", "called three", "succeeded S1")
        flow_run_id = RunFolder.find(name).about().flow_run_id
        task_runs_once(flow_run_id, lambda runs: open_task_runs(runs) == HELD)

    result = asyncio.run(held_run.go_on(name, calls))

    assert result.status == "completed"
    ended = task_runs_once(flow_run_id, lambda runs: not open_task_runs(runs))
    crashed = [run for run in ended if run.state_name == "Crashed"]
    assert sorted(run.name for run in crashed) == HELD
    assert all("ended without a word" in str(run.state and run.state.message) for run in crashed)


@task
async def step() -> None:
    """Is never called."""


async def _left_running() -> TaskRun:
    """Report to the server that a task run of this flow run is RUNNING."""
    run = await step.create_local_run(flow_run_context=FlowRunContext.get())
    assert run.state is not None
    _report(run, Running())
    return run


def _report(run: TaskRun, state: State[None]) -> None:
    emit_task_run_state_change_event(run, run.state, state)
    run.state = state


def _in_a_flow_run(begun: int, body: Body) -> list[TaskRun]:
    """Run something in a flow run that has been begun so often; return its task runs, all ended."""

    @flow
    async def outer() -> str:
        context = FlowRunContext.get()
        assert context is not None
        assert context.flow_run is not None
        context.flow_run.run_count = begun
        await body(await _left_running())
        return str(context.flow_run.id)

    flow_run_id = asyncio.run(outer())
    return task_runs_once(flow_run_id, _are_all_over)


def _are_all_over(runs: list[TaskRun]) -> bool:
    # The server has a task run a moment before it has its state.
    return bool(runs) and all(run.state for run in runs) and not open_task_runs(runs)


async def _on_the_server(run: TaskRun) -> None:
    """Wait until the server has it."""
    await asyncio.to_thread(
        task_runs_once, str(run.flow_run_id), lambda runs: open_task_runs(runs) == [run.name]
    )


def test_an_end_that_comes_late_still_counts() -> None:
    async def body(left: TaskRun) -> None:
        await _on_the_server(left)
        async with without_orphaned_task_runs(str(left.flow_run_id)):
            pass
        assert left.state is not None
        late = Completed(message="It had ended.")
        late.timestamp = left.state.timestamp + timedelta(milliseconds=1)
        _report(left, late)

    (run,) = _in_a_flow_run(1, body)
    # Whichever of the two the server takes first, its own end is the later.
    done = task_runs_once(
        str(run.flow_run_id), lambda runs: [r.state_name for r in runs] == ["Completed"]
    )
    assert done[0].state is not None
    assert done[0].state.message == "It had ended."


def test_an_end_that_the_server_lost_is_reported_again_at_the_end_of_the_run() -> None:
    ends: list[State[None]] = []

    async def body(left: TaskRun) -> None:
        async with without_orphaned_task_runs(str(left.flow_run_id)):
            await _on_the_server(left)
            ends.append(_seen_end(left))

    (run,) = _in_a_flow_run(0, body)
    assert run.state is not None
    assert (run.state_name, run.state.id) == ("Completed", ends[0].id)


def test_an_end_that_the_server_hears_twice_counts_once() -> None:
    async def body(left: TaskRun) -> None:
        async with without_orphaned_task_runs(str(left.flow_run_id)):
            await _on_the_server(left)
            done = _seen_end(left)
        _report(left, done)

    (run,) = _in_a_flow_run(0, body)
    assert run.state_name == "Completed"
    assert _history(run.id) == ["Running", "Completed"]


def _seen_end(run: TaskRun) -> State[None]:
    """Note that a task run has completed, as this process does; the server hears nothing."""
    done: State[None] = Completed()
    done.state_details.task_run_id = run.id
    current_task().calls.note(done)
    return done


def _history(task_run_id: UUID) -> list[str]:
    async def read() -> list[str]:
        async with get_client() as client:
            answer = await client._client.get(
                "/task_run_states/", params={"task_run_id": str(task_run_id)}
            )
            return [state["name"] for state in answer.json()]

    return asyncio.run(read())


def test_a_call_that_an_error_left_is_ended_with_its_run() -> None:
    async def body(left: TaskRun) -> None:
        await _on_the_server(left)
        async with without_orphaned_task_runs(str(left.flow_run_id)):
            with pytest.raises(OSError, match="full"), current_task().calls.call():
                raise OSError("The disk is full.")

    (run,) = _in_a_flow_run(0, body)
    assert run.state_name == "Crashed"
    assert run.state is not None
    assert run.state.message == "The run ended without hearing of its end."


def test_a_server_that_refuses_costs_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_: object, **__: object) -> list[TaskRun]:
        raise httpx.ConnectError("refused")

    async def body(left: TaskRun) -> None:
        with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
            patched.setattr(PrefectClient, "read_task_runs", refuse)
            async with without_orphaned_task_runs(str(left.flow_run_id)):
                pass
        _report(left, Completed())

    (run,) = _in_a_flow_run(1, body)
    assert run.state_name == "Completed"
    assert "Task runs that nothing executes may stay open" in caplog.text


def test_a_run_that_goes_well_asks_the_server_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def ask(*questions: object, **_: object) -> list[TaskRun]:
        asked.append(questions)
        return []

    async def body(left: TaskRun) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(PrefectClient, "read_task_runs", ask)
            async with without_orphaned_task_runs(str(left.flow_run_id)):
                pass
        _report(left, Completed())

    _in_a_flow_run(0, body)
    assert len(asked) == 1
