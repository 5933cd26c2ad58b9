"""Uneven plans here and in both of LangGraph's ways to write a graph."""

from __future__ import annotations

import asyncio
import operator
import os
import sys
from time import perf_counter
from typing import Annotated, Any, TypedDict

from fixed_latency import run_plan
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from own_prefect import run_with_prefect
from shapes import SHAPES, Part, Shape

__all__ = ["run", "run_functional", "run_state_graph"]

SLOTS = 100
HEAD = """\
## Uneven plans, compared with LangGraph

What does it cost to wait for a whole level of a plan? Makespan ÷ critical path of the same plans,
and the sum of the longest step of each level. Ours goes through a real Prefect server, from
the flow's first line to its last. LangGraph's nodes and tasks sleep, and nothing is stored. Its
`StateGraph` is compiled beforehand; a node that needs several others has one edge from their list.
In its functional API each part is a coroutine that awaits those it needs, then its own task.

| Shape, seconds | Critical path | By levels | Ours | `StateGraph` | Functional API |
|---|---:|---:|---:|---:|---:|"""


class Seen(TypedDict):
    """What the nodes share."""

    done: Annotated[list[str], operator.add]


def run() -> str:
    """Measure next to a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    os.environ["LANGSMITH_TRACING"] = "false"
    await run_plan(_warm_up().plan(), SLOTS)
    await run_state_graph(_warm_up())
    await run_functional(_warm_up())
    return "\n".join([HEAD, *[await _row(shape) for shape in SHAPES]])


async def _row(shape: Shape) -> str:
    best = shape.critical_path
    ours = (await run_plan(shape.plan(), SLOTS)).inside
    graph, functional = await run_state_graph(shape), await run_functional(shape)
    ratios = " | ".join(f"{seconds / best:.3f} ×" for seconds in (ours, graph, functional))
    return f"| {shape.name} | {best:g} | {shape.with_barriers:g} | {ratios} |"


async def run_state_graph(shape: Shape) -> float:
    """Run a plan as a graph, and return the seconds that it took."""
    graph = _graph(shape)
    start = perf_counter()
    seen = await graph.ainvoke({"done": []})
    seconds = perf_counter() - start
    assert sorted(seen["done"]) == sorted(shape.parts)
    return seconds


def _graph(shape: Shape) -> Any:
    graph = StateGraph(Seen)
    for name, part in shape.parts.items():
        graph.add_node(name, _node(name, part.seconds))
    for name, part in shape.parts.items():
        match part.needs:
            case ():
                graph.add_edge(START, name)
            case (needed,):
                graph.add_edge(needed, name)
            case needs:
                graph.add_edge(list(needs), name)
    read = {needed for part in shape.parts.values() for needed in part.needs}
    for name in shape.parts.keys() - read:
        graph.add_edge(name, END)
    return graph.compile()


def _node(name: str, seconds: float) -> Any:
    async def sleep(_: Seen) -> dict[str, list[str]]:
        await asyncio.sleep(seconds)
        return {"done": [name]}

    return sleep


async def run_functional(shape: Shape) -> float:
    """Run a plan by the functional API, and return the seconds that it took."""
    flow: Any = entrypoint()(_parts_of(shape))
    start = perf_counter()
    done = await flow.ainvoke({})
    seconds = perf_counter() - start
    assert sorted(done) == sorted(shape.parts)
    return seconds


def _parts_of(shape: Shape) -> Any:
    async def run_part(name: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        return name

    timed: Any = task(run_part)

    async def run_parts(_: dict[str, Any]) -> list[str]:
        running: dict[str, asyncio.Task[str]] = {}

        async def begin(name: str, part: Part) -> str:
            for needed in part.needs:
                await running[needed]
            return await timed(name, part.seconds)

        for name, part in shape.parts.items():
            running[name] = asyncio.create_task(begin(name, part))
        return list(await asyncio.gather(*running.values()))

    return run_parts


def _warm_up() -> Shape:
    return Shape("Warm-up", {f"part_{n}": Part(0.1) for n in range(10)})


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
