"""Steps that start while their plan is being written: from the objective to the first of them."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from own_prefect import run_with_prefect
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from provider_server import Asked, ProviderServer, Reply, provider_server

__all__ = [
    "MODEL",
    "OBJECTIVE",
    "ROUNDS",
    "STEPS",
    "STEP_S",
    "TOKENS_PER_S",
    "paced_server",
    "run",
]

ROUNDS = 3
TOKENS_PER_S = 50.0
TOKEN = 4
"""Characters of a token."""
STEPS, STEP_S = 12, 5.0
MODEL = "bench-model"
OBJECTIVE = "Compare eight cities as places for a small company"
CITIES = ("Lisbon", "Tallinn", "Vienna", "Porto", "Leipzig", "Gdansk", "Turin", "Ghent")
HEAD = f"""\
## Plans that stream

How much sooner do steps start where they are asked while their plan is still being written? A
provider's server on this machine (OpenAI's chat API over HTTP) writes a plan of {STEPS} steps and
{{tokens:.0f}} tokens, {TOKENS_PER_S:g} tokens a second. 8 of its steps need nothing, 3 need some,
the last one joins these. A step's answer takes {STEP_S:g} s. Medians of {ROUNDS} rounds, in which
both ways take turns.

| | Streamed | Not streamed | Streamed ÷ not |
|---|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class PlanTaken:
    """Seconds from the objective to the first step's request, and to the end."""

    first: float
    whole: float


def plan() -> dict[str, Any]:
    """Return the plan that the server writes."""
    looks: list[dict[str, Any]] = [
        {
            "agent": "Researcher",
            "prompt": f"Describe {city} as a place for a company of ten people: rents, taxes, "
            "wages, schools, trains and flights, in at most 150 words, with a figure for each.",
            "depends_on": [],
            "output": {"kind": "text"},
        }
        for city in CITIES
    ]
    joins: list[dict[str, Any]] = [
        {
            "agent": "Analyst",
            "prompt": f"Rank these cities by {by}, and give a reason for each place in a sentence.",
            "depends_on": needs,
            "output": {"kind": "text"},
        }
        for by, needs in (
            ("cost", [1, 2, 3, 4]),
            ("people", [5, 6, 7, 8]),
            ("travel", [1, 3, 5, 7]),
        )
    ]
    last = {
        "agent": "Analyst",
        "prompt": "Recommend a city, and say what speaks against it.",
        "depends_on": [9, 10, 11],
        "output": {"kind": "text"},
    }
    agents = [
        {"name": "Researcher", "system_prompt": "You look things up with care.", "tier": "worker"},
        {"name": "Analyst", "system_prompt": "You weigh what others found.", "tier": "worker"},
    ]
    return {"create_subagent": agents, "assign_task": [*looks, *joins, last]}


def run() -> str:
    """Measure beside a Prefect server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    ways = (True, False)
    rounds = [[await _taken(streamed=streamed) for streamed in ways] for _ in range(ROUNDS + 1)]
    with_it, without = zip(*rounds[1:], strict=True)
    lines = [
        _row("Objective to the first step's request", with_it, without, lambda each: each.first),
        _row("Makespan", with_it, without, lambda each: each.whole),
    ]
    tokens = len(json.dumps(plan())) / TOKEN
    return "\n".join([HEAD.format(tokens=tokens), *lines])


def _row(
    what: str,
    with_it: Sequence[PlanTaken],
    without: Sequence[PlanTaken],
    seconds: Callable[[PlanTaken], float],
) -> str:
    streamed, plain = median(map(seconds, with_it)), median(map(seconds, without))
    return f"| {what} | {streamed:.2f} s | {plain:.2f} s | {streamed / plain:.2f} |"


@contextmanager
def paced_server(asked: list[float]) -> Generator[ProviderServer]:
    """Serve what writes the plan at its pace, and answers its steps after a time.

    Args:
        asked: Gets the moment of each step's request.
    """
    written = json.dumps(plan())

    def answer(request: Asked) -> Reply:
        read = len(json.dumps(request.body)) // TOKEN
        if not request.is_plan:
            asked.append(perf_counter())
            time.sleep(STEP_S)
            subject = request.prompt.splitlines()[-1]
            text = " ".join(f"Figure {n} on “{subject[:40]}” is {37 * n}." for n in range(1, 12))
            return Reply(text, input_tokens=read, output_tokens=len(text) // TOKEN)
        began = perf_counter()

        def keep_pace(number: int) -> None:
            time.sleep(max(0.0, began + number / TOKENS_PER_S - perf_counter()))

        if not request.body.get("stream"):
            keep_pace(-(-len(written) // TOKEN))
        return Reply(
            tool_args=written,
            piece=TOKEN,
            before_piece=keep_pace,
            input_tokens=read,
            output_tokens=len(written) // TOKEN,
        )

    with provider_server(answer, models=(MODEL,)) as server:
        yield server


async def _taken(*, streamed: bool) -> PlanTaken:
    asked: list[float] = []
    with paced_server(asked) as server:
        options = SwarmOptions(
            model=server.name(MODEL), memory=False, max_concurrency=STEPS, stream_plan=streamed
        )
        began = perf_counter()
        result = await swarm(OBJECTIVE, options=options)
        ended = perf_counter()
    if result.status != "completed" or len(asked) != STEPS:
        raise RuntimeError(f"The run ended {result.status} after {len(asked)} steps.")
    return PlanTaken(asked[0] - began, ended - began)


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
