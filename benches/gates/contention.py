"""Contention of gates with the local model, and the limits at which a swarm ends soonest.

    python benches/gates/contention.py [--rounds 3] [--skip-rates] [--skip-swarms]

First, tokens a second of the embedded model with all four places taken, while nothing else runs,
while light gates run without a pause, one or two at once, and while a unit gate does.

Then a swarm of twelve steps that each write a Python module: the model really writes, as many
tokens at every limit, but what goes on is a module that was written beforehand, so that every gate
of every step runs and all swarms do the same work.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from artifacts import python_prompt, subject_of
from beforehand import Beforehand
from fresh_homes import fresh_home, own_prefect
from machine import describe_machine
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.gates import find_gate
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, Message
from prefect_swarm.models.llama.engine import Engine, close_engines, get_engine
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from swarms import run_plan

THREADS = (1, 2)
GATES_AT_ONCE = (1, 2, 4)
STEPS = 12
TOKENS = (48, 72, 96, 120)
PLACES = 4
REQUESTS = 4
LOADS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "one light gate": ("lint",),
    "two light gates": ("lint", "lint"),
    "a unit gate": ("unit",),
    "a unit gate and a light one": ("unit", "lint"),
    "two unit gates": ("unit", "unit"),
}


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens written and artifacts checked, both a second."""

    tokens: float
    gates: float


async def _rate(engine: Engine, load: tuple[str, ...], number: int) -> Rate:
    written = checked = 0
    over = asyncio.Event()

    async def write(place: int) -> None:
        nonlocal written
        for turn in range(REQUESTS):
            about = f"Tell the long story of ship number {number}{place}{turn} and its crew."
            asked = GenerateRequest((Message("user", about),), max_tokens=96, temperature=0)
            written += (await engine.generate(asked)).output_tokens

    async def check(name: str, first: int) -> None:
        nonlocal checked
        artifact = first
        while not over.is_set():
            await find_gate(name).check(subject_of("python", artifact := artifact + 1))
            checked += 1

    checks = [asyncio.create_task(check(name, 1000 * at)) for at, name in enumerate(load)]
    began = time.perf_counter()
    await asyncio.gather(*map(write, range(PLACES)))
    taken = time.perf_counter() - began
    rate = Rate(written / taken, checked / taken)
    over.set()
    await asyncio.gather(*checks)
    return rate


async def rates_table(rounds: int) -> str:
    """Return tokens a second by threads and by what runs beside the model, the median of rounds."""
    lines = [
        "| Threads | beside the model | tokens/s | of what it is alone | gates/s |",
        "|--:|---|--:|--:|--:|",
    ]
    for threads in THREADS:
        engine = get_engine(demo_model_path(), EngineConfig(n_threads=threads))
        await engine.generate(GenerateRequest(prompt="Load.", max_tokens=1))
        found: dict[str, list[Rate]] = {name: [] for name in LOADS}
        for number in range(rounds):
            for name, load in LOADS.items():
                found[name].append(await _rate(engine, load, number))
        alone = median(rate.tokens for rate in found["nothing"])
        for name, rates in found.items():
            tokens, gates = (median(r.tokens for r in rates), median(r.gates for r in rates))
            lines.append(
                f"| {threads} | {name} | {tokens:.0f} | {tokens / alone:.2f} | {gates:.1f} |"
            )
    return "\n".join(lines)


def _plan() -> TaskIR:
    numbers = range(1, STEPS + 1)
    coder = {"name": "Coder", "system_prompt": "You write short, plain, correct Python."}
    steps: list[dict[str, Any]] = [
        {
            "id": f"S{n}",
            "agent": "Coder",
            "prompt": python_prompt(n),
            "output": subject_of("python", n).output.model_dump(mode="json"),
        }
        for n in numbers
    ]
    last = {"id": f"S{STEPS + 1}", "agent": "Coder", "prompt": "Say: done.", "gates": []}
    steps.append({**last, "depends_on": [f"S{n}" for n in numbers]})
    return parse_plan({"objective": "Write modules", "agents": [coder], "steps": steps})


@dataclass(frozen=True, slots=True)
class Swarm:
    """Seconds from the first step's start to the last one's end, and tokens written."""

    seconds: float
    tokens: int


async def _swarm(threads: int, at_once: int) -> Swarm:
    prompts = {python_prompt(n): n for n in range(1, STEPS + 1)}
    model = Beforehand(
        EngineConfig(n_threads=threads),
        {
            prompt: (f"```python\n{subject_of('python', n).artifact}```", TOKENS[n % len(TOKENS)])
            for prompt, n in prompts.items()
        },
    )
    options = SwarmOptions(gate_concurrency=at_once, max_attempts=1)
    with fresh_home(), override_models(worker=model, orchestrator=model):
        result = await run_plan(_plan(), options)
    if result.status != "completed":
        raise RuntimeError(f"The swarm was to complete: {result.problem}")
    return Swarm(result.metrics.makespan_s, result.cost.output_tokens)


async def swarms_table(rounds: int) -> str:
    """Return seconds of a swarm by threads and by the light gates at once, the median of rounds."""
    cells = [(threads, at_once) for threads in THREADS for at_once in GATES_AT_ONCE]
    found: dict[tuple[int, int], list[Swarm]] = {cell: [] for cell in cells}
    await _swarm(THREADS[0], 1)  # What is only done once a process is over now.
    for _ in range(rounds):
        for cell in cells:
            found[cell].append(await _swarm(*cell))
    soonest = min(median(swarm.seconds for swarm in swarms) for swarms in found.values())
    lines = [
        "| Threads | light gates at once | seconds | of the soonest | fastest, slowest | tokens |",
        "|--:|--:|--:|--:|---|--:|",
    ]
    for (threads, at_once), swarms in found.items():
        taken = [swarm.seconds for swarm in swarms]
        tokens = median(swarm.tokens for swarm in swarms)
        middle = median(taken)
        lines.append(
            f"| {threads} | {at_once} | {middle:.1f} | {middle / soonest:.2f} "
            f"| {min(taken):.1f}, {max(taken):.1f} | {tokens:.0f} |"
        )
    return "\n".join(lines)


def _main(args: argparse.Namespace) -> None:
    parts: list[Callable[[int], Awaitable[str]]] = []
    parts += [] if args.skip_rates else [rates_table]
    parts += [] if args.skip_swarms else [swarms_table]

    async def measure() -> None:
        for part in parts:
            print(await part(args.rounds), end="\n\n", flush=True)
            close_engines()

    with own_prefect():
        asyncio.run(measure())
    print(describe_machine())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds; medians are shown")
    parser.add_argument("--skip-rates", action="store_true", help="leave out tokens a second")
    parser.add_argument("--skip-swarms", action="store_true", help="leave out the swarms")
    _main(parser.parse_args())
