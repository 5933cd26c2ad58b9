"""Twelve like steps on the local engine, at once and one at a time: whole runs through Prefect."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from machine import cores_between, read_load
from own_prefect import run_with_prefect
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.limits import engine_config_for
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.failure_policy import Category, Policy
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

__all__ = ["run"]

ROUNDS = 3
GOAL = 1.25
TOKENS = 128
ITEMS = (
    *("trains", "buses", "bicycles", "trams", "ferries", "planes"),
    *("cars", "scooters", "canoes", "horses", "balloons", "skis"),
)
HEAD = f"""\
## Like steps on the local engine

What does a run gain where the machine itself computes the answers? {len(ITEMS)} steps that need
nothing, the embedded model with as many slots as it gets here, at most {TOKENS} tokens an answer.
Each pair is two runs in turns, all {len(ITEMS)} steps at once and one at a time, from the flow's
first line to its last. Beside them are the cores that other processes kept busy, the Prefect
server's among them. The goal is {GOAL:g} on a quiet machine.

| Slots | Parallel | Tokens | One at a time | Tokens | One at a time ÷ parallel | Other processes |
|---:|---:|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds of a run, tokens that were written in it, and cores that others kept busy."""

    seconds: float
    tokens: int
    others: float


def run() -> str:
    """Measure beside a server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    slots = engine_config_for(demo_model_path()).n_slots
    lines, ratios = [HEAD], list[float]()
    await _taken("0", len(ITEMS))  # It loads the model.
    for number in range(1, ROUNDS + 1):
        # Which way is first takes turns, too.
        ways = [len(ITEMS), 1] if number % 2 else [1, len(ITEMS)]
        taken = {way: await _taken(f"{number}.{way}", way) for way in ways}
        together, alone = taken[len(ITEMS)], taken[1]
        ratios.append(alone.seconds / together.seconds)
        lines.append(
            f"| {slots} | {together.seconds:.1f} s | {together.tokens:,} | {alone.seconds:.1f} s "
            f"| {alone.tokens:,} | {ratios[-1]:.2f} | {together.others:.2f}, {alone.others:.2f} |"
        )
    middle = median(ratios)
    shown = f"{middle:.2f}" if middle >= GOAL else f"**{middle:.2f}**"
    close_engines()
    return "\n".join([*lines, f"| | | | | median | {shown} | |"])


async def _taken(mark: str, at_once: int) -> Taken:
    """Run the steps; the mark is in each prompt, so that nothing is found in a cache."""
    plan = TaskIR.from_items(f"Note {mark}. Write about {{item}} as a way to travel.", ITEMS)
    options = SwarmOptions(
        model="demo",
        max_concurrency=at_once,
        max_output_tokens=TOKENS,
        memory=False,
        # An answer that is cut off is neither written on nor asked for again.
        policy=Policy(rules={Category.TRUNCATED: ("KEEP",)}),
        gates={"text": ()},
    )
    times: dict[str, float] = {}

    def note(event: RunEvent) -> None:
        times[event.kind] = perf_counter()

    before = read_load()
    with override_models(orchestrator=FunctionModel(_join)), controlled(RunControl(listener=note)):
        result = await swarm(plan.objective, plan=plan, options=options)
    after = read_load()
    if result.status != "completed":
        raise RuntimeError(f"The run was to complete: {result.problem}")
    others = cores_between(before, after) if before and after else 0.0
    return Taken(times["finished"] - times["began"], result.cost.output_tokens, others)


async def _join(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("Done.")])


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
