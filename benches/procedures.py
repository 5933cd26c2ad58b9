"""A recurring run: planned anew each time, and by a procedure."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from statistics import median

from own_prefect import run_with_prefect
from plan_stream import MODEL, OBJECTIVE, ROUNDS, STEP_S, STEPS, TOKENS_PER_S, paced_server
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import Procedure, fill_in, make_places
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.result import SwarmResult

__all__ = ["run"]

HEAD = f"""\
## A recurring run, planned anew and by a procedure

What does a run save whose plan isn't written again? The plan, the server and its {STEPS} steps are
those of *Plans that stream*: {TOKENS_PER_S:g} tokens a second, {STEP_S:g} s a step, and steps start
while the plan is being written. The procedure is made of such a run's plan; its parameter is the
size of the company. A token is four characters, and an answer has about 150 of them. Medians of
{ROUNDS} rounds, in which both ways take turns.

| | Planned anew | By procedure | Procedure ÷ anew |
|---|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class RunTaken:
    """What a run took: requests to the model, tokens, and seconds from objective to answer."""

    requests: int
    tokens: int
    seconds: float


def run() -> str:
    """Measure beside a Prefect server of our own and return the table."""
    return run_with_prefect(__file__)


async def measure() -> str:
    """Measure on the Prefect server that is configured."""
    first = await _run(None)
    plan, _ = make_places(first.plan, {"size": "ten"})
    procedure = Procedure.model_validate(
        {"name": "cities", "purpose": OBJECTIVE, "parameters": {"size": {}}, "plan": plan}
    )
    anew, again = zip(
        *[
            (_taken(await _run(None)), _taken(await _run(fill_in(procedure, {"size": "twenty"}))))
            for _ in range(ROUNDS)
        ],
        strict=True,
    )
    lines = [
        _row("Requests", [each.requests for each in anew], [each.requests for each in again]),
        _row("Tokens", [each.tokens for each in anew], [each.tokens for each in again]),
        _row("Seconds", [each.seconds for each in anew], [each.seconds for each in again], 1),
    ]
    return "\n".join([HEAD, *lines])


def _row(what: str, anew: list[float], again: list[float], digits: int = 0) -> str:
    before, after = median(anew), median(again)
    return f"| {what} | {before:,.{digits}f} | {after:,.{digits}f} | {after / before:.2f} |"


async def _run(plan: TaskIR | None) -> SwarmResult:
    asked: list[float] = []
    with paced_server(asked) as server:
        options = SwarmOptions(model=server.name(MODEL), memory=False, max_concurrency=STEPS)
        objective = OBJECTIVE if plan is None else plan.objective
        result = await swarm(objective, plan=plan, options=options)
    if result.status != "completed" or len(asked) != STEPS:
        raise RuntimeError(f"The run ended {result.status} after {len(asked)} steps.")
    return result


def _taken(result: SwarmResult) -> RunTaken:
    return RunTaken(result.cost.calls, result.cost.tokens, result.metrics.total_s)


if __name__ == "__main__":
    print(asyncio.run(measure()) if "--here" in sys.argv else run())
