"""Where a run is stored, and what that costs: a folder against PostgreSQL, on one machine."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from fixed_latency import independent, run_plan
from own_prefect import run_with_prefect
from prefect_swarm.store.runs import store_address

__all__ = ["run"]

STORE = "PREFECT_INTEGRATIONS_SWARM_STORE"
STEPS = 300
SLOTS = 100
ROUNDS = 3
LATENCIES = (0.0, 2.0)
MOST = 1.05
"""The goal: the makespan with PostgreSQL, in makespans with a folder."""
HEAD = f"""\
## Runs in PostgreSQL

What does it cost to have runs in a database? {STEPS} independent steps, {SLOTS} in parallel, whose
model takes a fixed time, through a real Prefect server. The database's server is on the same
machine, shares its cores and waits for its disk at each write that must last. The quickest of
{ROUNDS} rounds in which both places take turns.

| A step's model | Folder | PostgreSQL | Ratio | CPU, folder | CPU, PostgreSQL | Goal |
|---:|---:|---:|---:|---:|---:|---|"""


def run() -> str:
    """Measure beside a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure(address: str) -> str:
    """Measure on the Prefect server that is configured, with runs in this database or in none."""
    lines = [HEAD]
    for place in ("", address):
        _store_in(place)
        await run_plan(independent(SLOTS, 0), SLOTS)
    for latency in LATENCIES:
        rounds = [[await _run(place, latency) for place in ("", address)] for _ in range(ROUNDS)]
        folder, database = (
            tuple(map(min, zip(*way, strict=True))) for way in zip(*rounds, strict=True)
        )
        ratio = database[0] / folder[0]
        shown = f"{ratio:.3f}" if ratio <= MOST else f"**{ratio:.3f}**"
        lines.append(
            f"| {latency:g} s | {folder[0]:.2f} s | {database[0]:.2f} s | {shown} "
            f"| {folder[1]:.2f} s | {database[1]:.2f} s | ≤ {MOST:g} |"
        )
    return "\n".join(lines)


async def _run(place: str, latency: float) -> tuple[float, float]:
    _store_in(place)
    taken = await run_plan(independent(STEPS, latency), SLOTS)
    return taken.inside, taken.cpu


def _store_in(place: str) -> None:
    """Have the runs of this process in a database, or in a folder."""
    os.environ.pop(STORE, None)
    if place:
        os.environ[STORE] = place
    store_address.cache_clear()


def _measured() -> str:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support" / "memory"))
    from postgres_server import postgres_server

    with postgres_server(waits_for_disk=True) as (address, _):
        return asyncio.run(measure(address))


if __name__ == "__main__":
    print(_measured() if "--here" in sys.argv else run())
