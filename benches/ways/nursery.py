"""Forks processes that run a pattern in one of the ways, or go on with it after they were killed.

A line of JSON for each process: `way`, `pattern`, `run` to go on with (null for a new one), the
`file` that LangGraph's checkpoints go to (null for those in memory), and `warm`: whether a small
run in the same process goes first, as it does in the other benches.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml
from kills.forks import fork_each, say
from langgraph.checkpoint.memory import InMemorySaver
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.events import RunEvent

from ways.calls import MODEL, noted_by
from ways.saver import FileSaver

PLANS = Path(__file__).with_name("plans")
# The other ways learn nothing either.
OPTIONS = SwarmOptions(max_concurrency=16, memory=False)
WARM_UP = TaskIR.from_items("Say {item}", ["one", "two"])


async def _run_plan(command: dict[str, Any]) -> float:
    if command["warm"]:
        with override_models(worker=MODEL, coder=MODEL, architect=MODEL, orchestrator=MODEL):
            await swarm(WARM_UP.objective, plan=WARM_UP, options=OPTIONS)
    noted_by(say)
    times: dict[str, float] = {}

    def handle(event: RunEvent) -> None:
        times[event.kind] = perf_counter()
        if event.kind == "began":
            say(f"began {event.run}")

    with (
        override_models(worker=MODEL, coder=MODEL, architect=MODEL, orchestrator=MODEL),
        controlled(RunControl(listener=handle)),
    ):
        if command["run"] is None:
            text = (PLANS / f"{command['pattern']}.yaml").read_text("utf-8")
            plan = parse_plan(yaml.safe_load(text))
            result = await swarm(plan.objective, plan=plan, options=OPTIONS)
        else:
            result = await resume(command["run"])
    assert result.status == "completed", result.problem
    return times["finished"] - times["began"]


async def _run_graph(command: dict[str, Any]) -> float:
    module = import_module(f"ways.with_langgraph.{command['pattern']}")
    file = command["file"]
    saver = FileSaver(Path(file)) if file else InMemorySaver()
    app = module.graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    start = perf_counter()
    is_begun = bool((await app.aget_state(config)).created_at)
    await app.ainvoke(None if is_begun else module.BEGIN, config, durability="sync")
    return perf_counter() - start


async def _run_plain(command: dict[str, Any]) -> float:
    module = import_module(f"ways.with_asyncio.{command['pattern']}")
    start = perf_counter()
    await module.run()
    return perf_counter() - start


WAYS: dict[str, Callable[[dict[str, Any]], Awaitable[float]]] = {
    "plan": _run_plan,
    "langgraph": _run_graph,
    "asyncio": _run_plain,
}


async def _work(command: dict[str, Any]) -> None:
    if command["way"] != "plan":
        noted_by(say)
    seconds = await WAYS[command["way"]](command)
    say(f"result {seconds:.3f}")


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    fork_each(_work)
