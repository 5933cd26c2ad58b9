"""A run over a Dask cluster is as one in this process: answers, events, budget, gates, cancelling.

The workers share nothing with the run but a PostgreSQL server.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from cluster_runs import HeldAnswers, about, booking, booking_plan, books, places
from dask_cluster import DaskCluster, dask_cluster, executing
from distributed import Client
from flow_runs import plan_of
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
from prefect.exceptions import CancelledRun
from prefect.settings import PREFECT_API_URL
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.store.events import GateEvent, RunEvent, TextEvent, ToolEvent, WaitEvent
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run, stored_runs
from provider_runs import InTurn, end_at, prose, run_at, serving
from provider_server import Asked, Reply
from runs_database import runs_in_database

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

WIDE = plan_of(
    *({"id": f"S{number}"} for number in range(1, 7)),
    {"id": "S7", "depends_on": ["S1", "S2"]},
)


@pytest.fixture(scope="module")
def cluster(
    prefect_server: None, postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DaskCluster]:
    """Two workers, and the database that they and the runs have."""
    with (
        pytest.MonkeyPatch.context() as patched,
        runs_in_database(postgres, patched),
        dask_cluster(tmp_path_factory.mktemp("dask") / "cluster") as cluster,
    ):
        for name in ("oak", "elm"):
            cluster.worker(name, PREFECT_API_URL=PREFECT_API_URL.value())
        yield cluster


def events_of(result: SwarmResult) -> list[RunEvent]:
    return [*find_run(result.run_id).events()]


def shown(result: SwarmResult) -> list[tuple[str, str]]:
    """Return what happened to which step, without the order of steps that run in parallel."""
    return sorted((event.kind, getattr(event, "step", "")) for event in events_of(result))


async def wait_until_idle(cluster: DaskCluster) -> None:
    """Return when no worker works on anything."""
    async with Client(cluster.address, asynchronous=True, set_as_default=False) as client:
        # Dask itself would have them wait for the server.
        while any((await client.run(executing)).values()):  # noqa: ASYNC110 - they are elsewhere
            await asyncio.sleep(0.05)


def test_a_run_over_workers_comes_to_what_a_local_one_does(cluster: DaskCluster) -> None:
    with serving(about) as server:
        here = run_at(server, WIDE)
        there = run_at(server, WIDE, executor=cluster.executor)
    assert there.status == here.status == "completed"
    assert there.answer == here.answer
    assert there.cost.calls == here.cost.calls
    assert shown(there) == shown(here)
    assert set(places(find_run(there.run_id))) == {"oak", "elm"}
    assert places(find_run(here.run_id)) == []


def test_text_of_a_model_comes_back_as_it_is_written(cluster: DaskCluster) -> None:
    text = prose("tides", 60)
    with serving(lambda _: Reply(text)) as server:
        plan = plan_of({"id": "S1"})
        result = run_at(server, plan, executor=cluster.executor, stream_text=True)
    pieces = [event.text for event in events_of(result) if isinstance(event, TextEvent)]
    assert "".join(pieces) == text
    assert places(find_run(result.run_id))


def test_calls_of_tools_come_back_and_are_made_once(cluster: DaskCluster, tmp_path: Path) -> None:
    with serving(booking()) as server:
        result = run_at(server, booking_plan(), executor=cluster.executor, **books(tmp_path))
    calls = [event for event in events_of(result) if isinstance(event, ToolEvent)]
    assert [(call.ordinal, call.outcome) for call in calls] == [
        *[(1, "started"), (1, "returned")],
        *[(2, "started"), (2, "returned")],
    ]
    assert (tmp_path / "books").read_text() == "line 0\nline 1\n"
    assert result.cost.calls == 3
    assert places(find_run(result.run_id))


def test_an_attempt_with_tools_ends_where_the_run_can_afford_no_more(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    options = {"max_tokens": 350, "max_output_tokens": 100, **books(tmp_path)}
    with serving(booking()) as server:
        here = end_at(server, booking_plan(), **options)
        there = end_at(server, booking_plan(), executor=cluster.executor, **options)
    assert here.steps[0].category == there.steps[0].category == "BUDGET"
    assert there.cost.calls == here.cost.calls


def test_gates_that_need_the_sandbox_are_held_on_a_worker(cluster: DaskCluster) -> None:
    plan = plan_of({"id": "S1", "output": {"kind": "shell"}})
    with serving(lambda _: Reply("```sh\necho hello\n```")) as server:
        result = run_at(server, plan, executor=cluster.executor)
    gates = {gate.gate: gate.status for gate in result.steps[0].attempts[-1].gates}
    assert gates
    assert set(gates.values()) == {"passed"}
    found = {event.gate for event in events_of(result) if isinstance(event, GateEvent)}
    assert found == gates.keys()


def test_requests_of_all_workers_take_slots_of_a_shared_limit(cluster: DaskCluster) -> None:
    name = f"limit-{uuid4().hex[:8]}"
    with get_client(sync_client=True) as client:
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=2))

    earlier = {run.run_id for run in stored_runs()}

    def is_waiting() -> bool:
        (run,) = (run for run in stored_runs() if run.run_id not in earlier)
        return any(run.events(("waiting",)))

    def reply(asked: Asked) -> Reply:
        # None ends before another one is known to wait, as long as there are more than two.
        end = time.monotonic() + 60
        while len(server.asked) <= 4 and not is_waiting():
            assert time.monotonic() < end, "no request waits"
            time.sleep(0.05)
        return about(asked)

    with serving(reply) as server:
        provider = urlsplit(server.url).netloc
        options: dict[str, Any] = {"provider_limits": {provider: name}, "max_concurrency": 6}
        result = run_at(server, WIDE, executor=cluster.executor, **options)
    assert result.status == "completed"
    assert server.most_at_once == 2
    assert {event.provider for event in events_of(result) if isinstance(event, WaitEvent)} >= {
        provider
    }
    assert set(places(find_run(result.run_id))) == {"oak", "elm"}


def test_cancelling_a_run_stops_what_its_workers_do(cluster: DaskCluster) -> None:
    reply = HeldAnswers()

    async def work(model: str) -> None:
        control = RunControl()
        options = SwarmOptions(model=model, memory=False, executor=cluster.executor)
        plan = plan_of({"id": "S1"}, {"id": "S2"})
        with controlled(control):
            going = asyncio.create_task(swarm(plan.objective, plan=plan, options=options))
            await asyncio.to_thread(reply.asked_for.wait)
            control.cancel.set()
            with pytest.raises(CancelledRun):
                await going
        await wait_until_idle(cluster)
        assert not reply.hold.is_set()
        reply.hold.set()

    with serving(reply) as server:
        asyncio.run(work(server.name()))


def test_a_wait_for_a_provider_is_told_and_counts_for_no_deadline(cluster: DaskCluster) -> None:
    busy = Reply(status=429, headers={"retry-after": "6"}, error={"message": "Rate limit."})
    with serving(InTurn([busy, Reply("It is deep.")])) as server:
        result = run_at(server, plan_of({"id": "S1"}), executor=cluster.executor, step_timeout_s=5)
        provider = urlsplit(server.url).netloc
    (attempt,) = result.steps[0].attempts
    assert attempt.category is None
    assert attempt.queue_s >= 5
    waits = [event for event in events_of(result) if isinstance(event, WaitEvent)]
    assert [(wait.kind, wait.step) for wait in waits] == [("waiting", "S1"), ("resumed", "S1")]
    assert waits[0].words.startswith(f"waiting for {provider} (rate limit: 429")
    assert places(find_run(result.run_id))


def test_an_attempt_that_is_late_is_stopped_on_its_worker(cluster: DaskCluster) -> None:
    reply = HeldAnswers()
    plan = plan_of({"id": "S1"}, escalation={"max_attempts": 1})
    with serving(reply) as server:
        result = end_at(server, plan, executor=cluster.executor, step_timeout_s=3)
        asyncio.run(wait_until_idle(cluster))
        assert not reply.hold.is_set()
        reply.hold.set()
    assert result.steps[0].category == "TIMEOUT"
    assert places(find_run(result.run_id))


def test_a_sample_that_another_one_made_needless_is_stopped_on_its_worker(
    cluster: DaskCluster,
) -> None:
    hold = threading.Event()
    best_of = {"samples": 2}
    output = {"kind": "json", "schema": {"type": "object"}}

    def reply(asked: Asked) -> Reply:
        is_first = asked.body["seed"] // 1000 == 1
        return Reply('{"n": 1}', hold=None if is_first else hold)

    with serving(reply) as server:
        plan = plan_of({"id": "S1", "best_of": best_of, "output": output})
        result = run_at(server, plan, executor=cluster.executor, seed=0)
        asyncio.run(wait_until_idle(cluster))
        assert not hold.is_set()
        hold.set()
    assert result.answer == '{"n": 1}'
    assert result.steps[0].attempts[0].samples == 2
