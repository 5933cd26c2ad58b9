"""Steps of one run over a Dask cluster, beside the same in one process.

`python benches/scale/steps.py --steps 3000` measures that number of steps alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from uuid import uuid4

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support" / "memory"))
from dask_cluster import dask_cluster
from own_prefect import OwnServer
from postgres_server import postgres_server

__all__ = ["run"]

SIZES = (300, 1_000)
LATENCIES = (0.0, 2.0)
WORKERS = 3
SLOTS = 90
"""Attempts in parallel: each worker has its share of them."""
HEAD = f"""\
## Steps on a Dask cluster

What does it cost to have the steps of one run worked on by a Dask cluster? A `for_each` of so many
items, its model behind HTTP, which answers after a fixed time; {SLOTS} attempts in parallel. The
process that executes the run, the scheduler, {WORKERS} workers with homes of their own, the model's
server, a Prefect server with SQLite and a PostgreSQL server that the run is stored in share the
machine's cores. *One process* is the same run with the executor `local`, stored in the same
database. Seconds are from the flow's first line to its last; CPU and memory are those of the
process that executes the run.

| Model's time | Steps | Executor | Seconds | A step | CPU, a step | Peak memory | ÷ one process |
|---:|---:|---|---:|---:|---:|---:|---:|"""


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
    with ExitStack() as stack:
        temporary = TemporaryDirectory(prefix="prefect-swarm-bench-", ignore_cleanup_errors=True)
        home = Path(stack.enter_context(temporary))
        server = OwnServer(home)
        stack.callback(server.stop)
        server.start()
        postgres, _ = stack.enter_context(postgres_server())
        lines = [HEAD]
        for latency in latencies:
            port = stack.enter_context(_model_server(latency))
            for size in sizes:
                lines += _rows(server, postgres, port, size, latency)
        return "\n".join(lines)


def _rows(server: OwnServer, postgres: str, port: int, size: int, latency: float) -> list[str]:
    # Each run has a database of its own: what earlier ones left would take time in later ones.
    with _database(postgres) as store:
        here = _spent(server, store, port, size, "local")
    with _database(postgres) as store, _cluster(server, store) as executor:
        there = _spent(server, store, port, size, executor)
    return [
        f"| {latency:g} s | {size:,} | {name} | {spent.inside:.1f} "
        f"| {1000 * spent.inside / size:.1f} ms | {1000 * spent.cpu / size:.1f} ms "
        f"| {spent.peak_kb / 1024:.0f} MiB | {spent.inside / here.inside:.2f} |"
        for name, spent in (("one process", here), (f"{WORKERS} workers", there))
    ]


@contextmanager
def _model_server(latency: float) -> Generator[int]:
    command = [sys.executable, str(Path(__file__).with_name("model_server.py")), str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@contextmanager
def _database(server: str) -> Generator[str]:
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
