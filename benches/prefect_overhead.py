"""Overhead of the flow: through a real Prefect server, with models of a fixed latency."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial

from bare_tasks import run_bare
from fixed_latency import Taken, independent, run_plan
from own_prefect import run_with_prefect
from shapes import UNEVEN

__all__ = ["run"]

SLOTS = 100
STEPS = 100
SECONDS = 2.0
SIZES = (100, 300)
ROUNDS = 3
MOST = 1.6
"""The goal: how many times the steps' own time a run of steps side by side may take."""
HEAD = """\
## The flow through Prefect

What does the flow add to the work? A real server (`prefect server start`, SQLite) on the same
machine. The plan is given, the subagents' model waits a fixed time, the orchestrator's answers
take no time. All between the flow's first and last line counts: task runs, results, pages, answer.

| | Measured | At best | Ratio | Goal |
|---|---:|---:|---:|---|"""
OVERHEAD = f"""
Independent steps whose model takes no time, {SLOTS} in parallel, compared with as many bare task
runs of Prefect's that do nothing, with the same persistence and caching. Makespan ÷ their number,
in the quickest of {ROUNDS} rounds in which they take turns. CPU is that of the flow's process
alone; the server shares its cores. A step has a subagent and, as a user's has, the gate of its
text: a task run of its own.

| Steps | A step | No gate | A bare task run | CPU, a step | CPU, no gate | CPU, a bare task run |
|---:|---:|---:|---:|---:|---:|---:|"""


def run() -> str:
    """Measure beside a server of our own and return the tables."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    await run_plan(independent(STEPS, 0), SLOTS)
    lines = [HEAD, await _uneven(), await _together(), OVERHEAD]
    return "\n".join([*lines, *[await _overhead(size) for size in SIZES]])


async def _uneven() -> str:
    taken = await run_plan(UNEVEN.plan(), SLOTS)
    best, barriers = UNEVEN.critical_path, UNEVEN.with_barriers
    return (
        f"| {UNEVEN.name} s; {barriers:g} s with a barrier | {taken.inside:.2f} s | {best:g} s "
        f"| {taken.inside / best:.3f} | {best:g} s and overhead |"
    )


async def _together() -> str:
    taken = await run_plan(independent(STEPS, SECONDS), SLOTS)
    ratio = taken.inside / SECONDS
    shown = f"{ratio:.3f}" if ratio <= MOST else f"**{ratio:.3f}**"
    return (
        f"| {STEPS} steps of {SECONDS:g} s, {SLOTS} in parallel | {taken.inside:.2f} s "
        f"| {SECONDS:g} s | {shown} | ≤ {MOST:g} |"
    )


async def _overhead(size: int) -> str:
    taken = await _taking_turns(
        partial(run_plan, independent(size, 0), SLOTS),
        partial(run_plan, independent(size, 0), SLOTS, gates=False),
        partial(run_bare, size, SLOTS),
    )
    cells = [way.inside / size for way in taken] + [way.cpu / size for way in taken]
    return f"| {size} | " + " | ".join(f"{1000 * cell:.1f} ms" for cell in cells) + " |"


async def _taking_turns(*ways: Callable[[], Awaitable[Taken]]) -> list[Taken]:
    rounds = [[await way() for way in ways] for _ in range(ROUNDS)]
    return [
        Taken(min(taken.inside for taken in way), min(taken.cpu for taken in way))
        for way in zip(*rounds, strict=True)
    ]


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
