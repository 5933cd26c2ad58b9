"""A run over a Dask cluster is as one in this process: answers, events, budget, gates, cancelling.

The workers share nothing with the run but a PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_cluster import DaskCluster, dask_cluster
from distributed import Client
from flow_runs import plan_of
from prefect_swarm.errors import RunCancelledError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run
from provider_runs import end_at, prose, run_at, serving
from provider_server import Asked, Reply
from raw_servers import entry
from runs_database import runs_in_database

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

WIDE = plan_of(
    *({"id": f"S{number}"} for number in range(1, 7)),
    {"id": "S7", "depends_on": ["S1", "S2"]},
)


@pytest.fixture(scope="module")
def cluster(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two workers, and the database that they and the runs have."""
    with pytest.MonkeyPatch.context() as patched, runs_in_database(postgres, patched):
        with dask_cluster(tmp_path_factory.mktemp("dask") / "cluster") as cluster:
            for name in ("oak", "elm"):
                cluster.worker(name)
            yield cluster


def about(asked: Asked) -> Reply:
    return Reply(f"about: {asked.prompt.splitlines()[-1]}")


def events_of(result: SwarmResult) -> list[RunEvent]:
    return [*find_run(result.run_id).events()]


def shown(result: SwarmResult) -> list[tuple[str, str]]:
    """Return what happened to which step, without the order of steps that run in parallel."""
    return sorted((event.kind, getattr(event, "step", "")) for event in events_of(result))


def places(result: SwarmResult) -> set[str]:
    """Return the workers that anything was begun on."""
    texts = (json.loads(text) for text in find_run(result.run_id).texts() if '"mark"' in text)
    return {found["place"] for found in texts if isinstance(found, dict) and "mark" in found}


def booking_plan(calls: int) -> TaskIR:
    agents = [{"name": "Clerk", "system_prompt": "You book.", "tools": ["raw"]}]
    step = {"id": "S1", "agent": "Clerk", "prompt": "do S1"}
    return parse_plan({"objective": f"Book {calls}", "agents": agents, "steps": [step]})


def books(folder: Path) -> dict[str, Any]:
    """Return the option of a server that books in a file."""
    server = {**entry(), "env": {"BOOKS": str(folder / "books")}}
    (path := folder / "tools.json").write_text(json.dumps({"mcpServers": {"raw": server}}))
    return {"mcp": str(path)}


def booking(asked: Asked) -> Reply:
    """Book twice, and answer."""
    done = sum(message.get("role") == "tool" for message in asked.body["messages"])
    if done == 2:
        return Reply("Booked.")
    return Reply(tool_name="raw_book", tool_args={"line": f"line {done}"})


def test_a_run_over_workers_comes_to_what_a_local_one_does(cluster: DaskCluster) -> None:
    with serving(about) as server:
        here = run_at(server, WIDE)
        there = run_at(server, WIDE, executor=cluster.executor)
    assert there.status == here.status == "completed"
    assert there.answer == here.answer
    assert there.cost.calls == here.cost.calls
    assert shown(there) == shown(here)
    assert places(there) == {"oak", "elm"}
    assert places(here) == set()


def test_text_of_a_model_comes_back_as_it_is_written(cluster: DaskCluster) -> None:
    text = prose("tides", 60)
    with serving(lambda _: Reply(text)) as server:
        plan = plan_of({"id": "S1"})
        result = run_at(server, plan, executor=cluster.executor, stream_text=True)
    pieces = [event.text for event in events_of(result) if event.kind == "text"]
    assert "".join(pieces) == text
    assert places(result)


def test_calls_of_tools_come_back_and_are_made_once(cluster: DaskCluster, tmp_path: Path) -> None:
    with serving(booking) as server:
        result = run_at(server, booking_plan(2), executor=cluster.executor, **books(tmp_path))
    calls = [event for event in events_of(result) if event.kind == "tool"]
    assert [(call.ordinal, call.outcome) for call in calls] == [
        *[(1, "started"), (1, "returned")],
        *[(2, "started"), (2, "returned")],
    ]
    assert (tmp_path / "books").read_text() == "line 0\nline 1\n"
    assert result.cost.calls == 3
    assert places(result)


def test_an_attempt_with_tools_ends_where_the_run_can_afford_no_more(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    options = {"executor": cluster.executor, "max_tokens": 800, "max_output_tokens": 100}
    with serving(booking) as server:
        here = end_at(server, booking_plan(2), **{**options, "executor": "local"}, **books(tmp_path))
        there = end_at(server, booking_plan(2), **options, **books(tmp_path))
    assert here.steps[0].category == there.steps[0].category == "BUDGET"
    assert there.cost.calls == here.cost.calls


def test_gates_that_need_the_sandbox_are_held_on_a_worker(cluster: DaskCluster) -> None:
    plan = plan_of({"id": "S1", "output": {"kind": "shell"}})
    with serving(lambda _: Reply("```sh\necho hello\n```")) as server:
        result = run_at(server, plan, executor=cluster.executor)
    gates = {gate.gate: gate.status for gate in result.steps[0].attempts[-1].gates}
    assert gates
    assert set(gates.values()) == {"passed"}
    found = {event.gate for event in events_of(result) if event.kind == "gate"}
    assert found == gates.keys()


def test_cancelling_a_run_stops_what_its_workers_do(cluster: DaskCluster) -> None:
    hold, asked_for = threading.Event(), threading.Event()

    def reply(asked: Asked) -> Reply:
        asked_for.set()
        return Reply("late", hold=hold)

    async def work(model: str) -> None:
        control = RunControl()
        options = SwarmOptions(model=model, memory=False, executor=cluster.executor)
        plan = plan_of({"id": "S1"}, {"id": "S2"})
        with controlled(control):
            going = asyncio.create_task(swarm(plan.objective, plan=plan, options=options))
            await asyncio.to_thread(asked_for.wait)
            control.cancel.set()
            with pytest.raises(RunCancelledError):
                await going
        async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
            # Dask itself would have them wait for the server.
            while any((await client.run(_executing)).values()):
                await asyncio.sleep(0.05)
        assert not hold.is_set()
        hold.set()

    with serving(reply) as server:
        asyncio.run(work(server.name()))


def _executing(dask_worker: Any = None) -> int:
    return len(dask_worker.state.executing)
