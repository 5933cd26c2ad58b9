"""The local engine beside what else computes: with as many threads as cores, and adapting them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent / "gates"))

from artifacts import subject_of
from prefect_swarm.gates import find_gate
from prefect_swarm.models.llama.api import EngineConfig, GenerateRequest, usable_cores
from prefect_swarm.models.llama.engine import Engine, close_engines, get_engine
from prefect_swarm.models.llama.gguf import demo_model_path

__all__ = ["run"]

ROUNDS = 3
PLACES = 4
TOKENS = 48
N_CTX = 512
GATE = "unit"
# It ends with its parent, however that ends.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
HEAD = f"""\
## A good neighbour

What does the engine gain beside other work when its threads follow what is free (the default)? The
embedded SmolLM2-135M on {{cores}} cores, {PLACES} requests of {TOKENS} tokens at once; *fixed* is
a thread a core. Medians of {ROUNDS} rounds in turns, the ratio with the lowest and the highest.

| Beside it | fixed, tokens/s | adaptive, tokens/s | adaptive ÷ fixed |
|---|---:|---:|---:|"""

Neighbour = Callable[[], AbstractAsyncContextManager[None]]
_artifacts = count()


def run() -> str:
    """Measure both ways beside every neighbour and return the table."""
    neighbours: dict[str, Neighbour] = {
        "nothing": _nothing,
        "one busy process": _busy_process,
        f"{GATE} gates without a pause": _gates,
    }
    rows = [_row(name, asyncio.run(_rounds(beside))) for name, beside in neighbours.items()]
    close_engines()
    return "\n".join([HEAD.format(cores=usable_cores()), *rows])


def _row(name: str, rounds: list[tuple[float, float]]) -> str:
    fixed, adaptive = (median(rates) for rates in zip(*rounds, strict=True))
    ratios = sorted(new / old for old, new in rounds)
    spread = f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
    return f"| {name} | {fixed:.0f} | {adaptive:.0f} | {spread} |"


async def _rounds(beside: Neighbour) -> list[tuple[float, float]]:
    path = demo_model_path()
    ways = [
        get_engine(path, EngineConfig(n_ctx=N_CTX, n_threads=usable_cores())),
        get_engine(path, EngineConfig(n_ctx=N_CTX)),
    ]
    found: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        rates: dict[int, float] = {}
        # The first of a round may find another machine than the second, so they change places.
        for way in (0, 1) if number % 2 else (1, 0):
            async with beside():
                rates[way] = await _rate(ways[way], number)
        found.append((rates[0], rates[1]))
    return found


async def _rate(engine: Engine, number: int) -> float:
    def asked(place: int) -> GenerateRequest:
        prompt = f"{number}{place}. The long story of a ship and its crew:"
        # A grammar without an end, so that all answers are equally long.
        return GenerateRequest(
            prompt=prompt, max_tokens=TOKENS, temperature=0, grammar="root ::= [a-z ] root"
        )

    await engine.generate(GenerateRequest(prompt="Load.", max_tokens=1))
    began = perf_counter()
    answers = await asyncio.gather(*(engine.generate(asked(place)) for place in range(PLACES)))
    return sum(answer.output_tokens for answer in answers) / (perf_counter() - began)


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None]:
    yield


@asynccontextmanager
async def _busy_process() -> AsyncGenerator[None]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", BUSY)
    try:
        yield
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def _gates() -> AsyncGenerator[None]:
    over = asyncio.Event()

    async def check() -> None:
        while not over.is_set():
            await find_gate(GATE).check(subject_of("python", next(_artifacts)))

    checks = asyncio.create_task(check())
    try:
        yield
    finally:
        over.set()
        await checks


if __name__ == "__main__":
    print(run())
