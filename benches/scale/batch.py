"""A batch of objectives that four processes without a common disk do together; two are killed.

`python benches/scale/batch.py --lines 60` does so many lines.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep

import httpx

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support" / "memory"))
from own_prefect import OwnServer
from postgres_server import postgres_server

from scale.steps import database, model_server, prefect_with_redis

__all__ = ["measure"]

LINES = 500
PROCESSES = 4
KILLS = 2
CONCURRENCY = 4
"""Lines that a process does in parallel."""
HEAD = f"""\
## A batch over four processes

Is each line of a batch done once where several machines do it together and some of them die?
`batch --shared` in {PROCESSES} processes, each with homes of its own, {CONCURRENCY} lines in
parallel in each; runs in PostgreSQL; a Prefect server with PostgreSQL and Redis. Lines are plans of
one step, whose model answers at once. {KILLS} of the processes are killed (`kill -9`), one once the
model has had a third as many requests as there are lines, one at two thirds, and not begun again.
*Twice*: lines that have more than one completed run.

| Lines | Completed | Missing | Twice | Requests | Seconds | Lines a minute |
|---:|---:|---:|---:|---:|---:|---:|"""


def measure(lines: int = LINES) -> str:
    """Measure beside servers of our own and return the table."""
    with (
        postgres_server() as (postgres, _),
        database(postgres) as store,
        model_server(0) as port,
        prefect_with_redis() as server,
    ):
        begin = perf_counter()
        processes = [_process(server, store, port, number, lines) for number in range(PROCESSES)]
        for kill in range(KILLS):
            _wait_for(server, port, lines * (kill + 1) // (KILLS + 1), processes)
            os.killpg(processes[kill].pid, signal.SIGKILL)
            processes[kill].wait()
        for process in processes:
            process.wait()
        seconds, asked = perf_counter() - begin, _asked(port)
        results = _completed(store)
    whole = sum(count > 0 for count in results.values())
    twice = sum(count > 1 for count in results.values())
    row = (
        f"| {lines:,} | {whole:,} | {_judged(lines - whole)} | {_judged(twice)} | {asked:,} "
        f"| {seconds:.0f} | {60 * lines / seconds:.0f} |"
    )
    return f"{HEAD}\n{row}"


def _judged(faults: int) -> str:
    return f"**{faults}**" if faults else "0"


def _process(
    server: OwnServer, store: str, port: int, number: int, lines: int
) -> subprocess.Popen[bytes]:
    """Begin a process with a home of its own, which has the same lines as the others."""
    (home := server.home / f"machine-{number}").mkdir()
    agents = [{"name": "Worker", "system_prompt": "You do one item of a larger job."}]
    with (home / "jobs.jsonl").open("w", encoding="utf-8") as file:
        for line in range(lines):
            step = {"id": "S1", "agent": "Worker", "prompt": f"Do {line}."}
            plan = {"objective": f"Do {line}", "agents": agents, "steps": [step]}
            file.write(json.dumps({"plan": plan}) + "\n")
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            [
                *(str(Path(sys.executable).with_name("prefect-swarm")), "batch", "jobs.jsonl"),
                *("--output", "results.jsonl", "--shared", "night", "--no-memory"),
                *("--concurrency", str(CONCURRENCY)),
                *("--model", f"openai:fixed@http://127.0.0.1:{port}/v1"),
            ],
            cwd=home,
            env=server.environment
            | {
                "PREFECT_HOME": str(home / "prefect"),
                "PREFECT_INTEGRATIONS_SWARM_HOME": str(home / "swarm"),
                "PREFECT_INTEGRATIONS_SWARM_STORE": store,
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait_for(
    server: OwnServer, port: int, asked: int, processes: Sequence[subprocess.Popen[bytes]]
) -> None:
    while _asked(port) < asked:
        for number, process in enumerate(processes):
            if process.poll() not in (None, -signal.SIGKILL):
                log = (server.home / f"machine-{number}" / "log").read_text("utf-8")
                raise RuntimeError(f"Process {number} ended before its lines were done: {log}")
        sleep(0.1)


def _asked(port: int) -> int:
    return int(httpx.get(f"http://127.0.0.1:{port}/asked").json())


def _completed(store: str) -> Counter[str]:
    """Return how many completed runs each objective has."""
    from prefect_swarm.store.postgres import PostgresRun

    found = Counter[str]()
    for stored in PostgresRun.all(store, 0):
        result = stored.run.result()
        if result is not None and result.status == "completed":
            found[stored.run.about().objective] += 1
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    print(measure(parser.parse_args().lines))
