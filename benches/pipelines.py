"""Pipelines over items, here and as others write them: stages of uneven length."""

from __future__ import annotations

import asyncio
import operator
import os
import sys
from collections.abc import Iterator
from random import Random
from statistics import median
from time import perf_counter
from typing import Annotated, Any, TypedDict

from fixed_latency import answer_after_waiting, run_plan
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from own_prefect import run_with_prefect
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from shapes import waiting
from simulate import Job, makespan

__all__ = ["run"]

ITEMS, SLOTS, SEED, SIGMA = 40, 16, 20_261_101, 1.0
STAGES = ("read", "check", "judge")
BOUND_S = 50.0
GOAL = 1.03
DRAWS = 300
HEAD = f"""\
## Pipelines

What does it cost to take many items through several stages? {ITEMS} items, {len(STAGES)} stages,
log-normal seconds (σ = {SIGMA:g}, each of its own), {SLOTS} at once. Nothing can beat the larger of
critical path and work ÷ slots. No way knows how long an item will take, and each begins all items
in their order. Ours is a plan of three steps, through a real Prefect server, with gates and pages,
from the flow's first line to its last. The others store nothing: `Send` has a barrier after each
superstep; in the functional API, and in plain asyncio with an agent of pydantic-ai, an item's calls
follow one another inside a semaphore for each call. They run side by side, after ours.

"""

Item = dict[str, float]


def run() -> str:
    """Measure next to a server of our own and return the tables."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    os.environ["LANGSMITH_TRACING"] = "false"
    items = drawn(SEED, BOUND_S)
    await run_plan(plan_of(drawn(SEED, 0.5)), SLOTS)
    ours = (await run_plan(plan_of(items), SLOTS)).inside
    others = list(await asyncio.gather(_with_send(items), _functional(items), _plain(items)))
    return _report(items, ours, others)


def _report(items: list[Item], ours: float, others: list[float]) -> str:
    path, work = bounds_of(items)
    bound = max(path, work)
    bare = bare_makespan(items)
    drawings = [drawn(seed, BOUND_S) for seed in range(DRAWS)]
    typical = median(bare_makespan(each) / BOUND_S for each in drawings)
    names = ("LangGraph, `Send`", "LangGraph, functional API", "asyncio and pydantic-ai")
    rows = [("ours", ours), *zip(names, others, strict=True)]
    which = "critical path" if path >= work else "work ÷ slots"
    return "\n".join(
        [
            f"{HEAD}| | Seconds | ÷ bound | ÷ the schedule alone |",
            "|---|---:|---:|---:|",
            f"| critical path | {path:.1f} s | {path / bound:.3f} | |",
            f"| work ÷ slots | {work:.1f} s | {work / bound:.3f} | |",
            f"| the schedule alone, under a virtual clock | {bare:.2f} s | {bare / bound:.3f} | |",
            *(
                f"| {name} | {seconds:.2f} s | {_marked(seconds / bound, name)} "
                f"| {seconds / bare:.3f} |"
                for name, seconds in rows
            ),
            "",
            f"The bound is the {which}. The goal of ours is {GOAL:g} × the bound. What is over the "
            "schedule alone is the flow's own cost. What the schedule is over the bound comes from "
            "durations that it doesn't know: an item that turns out to be the longest was begun "
            f"among the others. Of {DRAWS} drawings like this one, the schedule alone comes to "
            f"{typical:.3f} × the bound in the median.",
        ]
    )


def _marked(ratio: float, name: str) -> str:
    return f"**{ratio:.3f}**" if name == "ours" and ratio > GOAL else f"{ratio:.3f}"


# --- the work ---------------------------------------------------------------------------------


def drawn(seed: int, bound_s: float) -> list[Item]:
    """Draw the seconds of each stage of each item, scaled so that no run can be shorter."""
    random = Random(seed)
    raw = [{stage: random.lognormvariate(0, SIGMA) for stage in STAGES} for _ in range(ITEMS)]
    scale = bound_s / max(bounds_of(raw))
    return [{stage: round(scale * each[stage], 3) for stage in STAGES} for each in raw]


def bounds_of(items: list[Item]) -> tuple[float, float]:
    """Return the critical path, and the work shared among all slots, in seconds."""
    sums = [sum(item.values()) for item in items]
    return max(sums), sum(sums) / SLOTS


def plan_of(items: list[Item]) -> TaskIR:
    """Return the plan of three steps, each of which follows the one before item by item."""
    sources: list[Any] = [[{"name": f"item {n}", **item} for n, item in enumerate(items, 1)]]
    sources += [f"S{n}" for n in range(1, len(STAGES))]
    steps = [
        {
            "id": f"S{number}",
            "agent": "Reader",
            "prompt": f"{stage} {{item.name}}: {waiting(0).replace('0', f'{{item.{stage}}}')}",
            "for_each": {"items": source},
        }
        for number, (stage, source) in enumerate(zip(STAGES, sources, strict=True), 1)
    ]
    agents = [{"name": "Reader", "system_prompt": "You do one item of a larger job."}]
    return parse_plan({"objective": "Judge all items", "agents": agents, "steps": steps})


def bare_makespan(items: list[Item]) -> float:
    """Return the seconds that the schedule comes to where nothing but the work takes time."""
    return makespan([*_jobs(items)], SLOTS)


def _jobs(items: list[Item]) -> Iterator[Job]:
    steps = compile_plan(plan_of(items)).steps
    for step, stage in zip(steps, STAGES, strict=True):
        for number, item in enumerate(items, 1):
            before = (f"{step.follows}[{number}]",) if step.follows else ()
            yield Job(f"{step.id}[{number}]", before, item[stage], step.priority)


# --- as others write it -----------------------------------------------------------------------


class Done(TypedDict):
    """What all nodes share."""

    done: Annotated[list[str], operator.add]


async def _with_send(items: list[Item]) -> float:
    def node(stage: str, following: tuple[str, ...]) -> Any:
        async def work(item: Item) -> Any:
            await asyncio.sleep(item[stage])
            return Command(update={"done": [stage]}, goto=[Send(each, item) for each in following])

        return work

    def fan_out(_: Done) -> list[Send]:
        return [Send(STAGES[0], item) for item in items]

    graph: Any = StateGraph(Done)
    for number, stage in enumerate(STAGES, 1):
        following = STAGES[number : number + 1]
        graph.add_node(stage, node(stage, following), destinations=following)
    graph.add_conditional_edges(START, fan_out, [STAGES[0]])
    compiled = graph.compile()
    start = perf_counter()
    seen = await compiled.ainvoke({"done": []}, {"max_concurrency": SLOTS})
    seconds = perf_counter() - start
    assert len(seen["done"]) == len(items) * len(STAGES)
    return seconds


async def _functional(items: list[Item]) -> float:
    free = asyncio.Semaphore(SLOTS)

    async def work(seconds: float) -> str:
        async with free:
            await asyncio.sleep(seconds)
        return "done"

    timed: Any = task(work)

    async def through(item: Item) -> list[str]:
        return [await timed(item[stage]) for stage in STAGES]

    async def all_items(given: list[Item]) -> list[list[str]]:
        return await asyncio.gather(*(through(item) for item in given))

    flow: Any = entrypoint()(all_items)
    start = perf_counter()
    done = await flow.ainvoke(items)
    seconds = perf_counter() - start
    assert sum(map(len, done)) == len(items) * len(STAGES)
    return seconds


async def _plain(items: list[Item]) -> float:
    agent = Agent(FunctionModel(answer_after_waiting))
    free = asyncio.Semaphore(SLOTS)

    async def through(item: Item) -> int:
        for stage in STAGES:
            async with free:
                await agent.run(f"{stage}: {waiting(item[stage])}")
        return len(STAGES)

    start = perf_counter()
    done = await asyncio.gather(*map(through, items))
    seconds = perf_counter() - start
    assert sum(done) == len(items) * len(STAGES)
    return seconds


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
