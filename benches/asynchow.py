"""Plans of AsyncHow in virtual time, and side by side through a real Prefect server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from random import Random
from statistics import median

from fixed_latency import run_plan
from langgraph_shapes import run_functional, run_state_graph
from own_prefect import run_with_prefect
from prefect_swarm.plan.task_ir import TaskIR
from published.records import Household, read_households
from shapes import Part, Shape
from simulate import makespan

__all__ = ["run"]

SEED, GOLD_S, STEPS, BATCHES = 20_261_127, 60.0, 300, 2
GOAL_MEDIAN, GOAL_WORST = 1.03, 1.06
HEAD = f"""\
## Plans that others wrote: AsyncHow

How close to the time of the longest chain do plans end that nobody here wrote? AsyncHow (Lin et
al., 2024; MIT) has 1,598 plans of everyday work out of wikiHow, with edges and durations, checked
by persons. *Simulated*: each through the schedule in virtual time. *Real*: plans drawn by seed,
{STEPS} steps of them at a time as one run through a real Prefect server, with gates and pages, each
plan's times multiplied so that its longest chain takes {GOLD_S:g} s; a plan ends
with its last step.
LangGraph runs each plan as a graph of its own, all at once in one process; its nodes sleep, and
nothing is stored. *One agent* does one step after another. Time ÷ longest chain; goals: simulated
1.000, real ≤ {GOAL_MEDIAN:g} in the median and ≤ {GOAL_WORST:g} at worst.

| | Plans | Median | Mean | Worst |
|---|---:|---:|---:|---:|"""


def run() -> str:
    """Measure next to a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    os.environ["LANGSMITH_TRACING"] = "false"
    households = read_households(GOLD_S)
    simulated = [makespan(each.jobs, len(each.jobs)) / each.gold for each in households]
    rows = [
        _row("Simulated: ours", simulated, 1.0005, 1.0005),
        _row("Simulated: waves", [each.in_waves / each.gold for each in households]),
        _row("One agent", [each.one_after_another / each.gold for each in households]),
    ]
    drawn = [*_drawn(households)]
    ours: list[float] = []
    graphs: list[float] = []
    functional: list[float] = []
    await run_plan(_warm_up().plan(), STEPS)
    for batch in drawn:
        ours += await _ours(batch)
        graphs += await asyncio.gather(*map(_state_graph, batch))
        functional += await asyncio.gather(*map(_functional, batch))
    real = [each for batch in drawn for each in batch]
    rows += [
        _row("Real: ours", ours, GOAL_MEDIAN, GOAL_WORST),
        _row("Real: LangGraph's `StateGraph`", graphs),
        _row("Real: LangGraph's functional API", functional),
        _row("The same plans in waves, simulated", [each.in_waves / each.gold for each in real]),
        _row("The same plans, one agent", [each.one_after_another / each.gold for each in real]),
    ]
    return "\n".join([HEAD, *rows])


def _drawn(households: Sequence[Household]) -> Iterator[list[Household]]:
    """Yield batches of plans, each of as many steps as fit."""
    order = [*households]
    Random(SEED).shuffle(order)
    for _ in range(BATCHES):
        batch: list[Household] = []
        while sum(len(each.jobs) for each in batch) + len(order[-1].jobs) <= STEPS:
            batch.append(order.pop())
        yield batch


async def _ours(batch: Sequence[Household]) -> list[float]:
    """Run plans side by side in one run; return when each ended ÷ its longest chain."""
    taken = await run_plan(_beside_one_another(batch), STEPS)
    found: list[float] = []
    number = 0
    for each in batch:
        ids = [f"S{number + n}" for n in range(1, len(each.jobs) + 1)]
        number += len(ids)
        found.append(max(taken.ends[name] for name in ids) / each.gold)
    return found


def _beside_one_another(batch: Sequence[Household]) -> TaskIR:
    parts = {
        f"{number}.{name}": Part(part.seconds, tuple(f"{number}.{need}" for need in part.needs))
        for number, each in enumerate(batch)
        for name, part in each.shape.parts.items()
    }
    return Shape("Everyday work", parts).plan()


async def _state_graph(household: Household) -> float:
    return await run_state_graph(household.shape) / household.gold


async def _functional(household: Household) -> float:
    return await run_functional(household.shape) / household.gold


def _row(name: str, ratios: Sequence[float], at_median: float = 0, at_worst: float = 0) -> str:
    middle, worst = median(ratios), max(ratios)
    cells = [
        f"{len(ratios):,}",
        _figure(middle, at_median),
        f"{sum(ratios) / len(ratios):.3f} ×",
        _figure(worst, at_worst),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _figure(ratio: float, goal: float) -> str:
    text = f"{ratio:.3f} ×"
    return f"**{text}**" if goal and ratio > goal else text


def _warm_up() -> Shape:
    return Shape("Warm-up", {f"part_{n}": Part(0.1) for n in range(10)})


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
