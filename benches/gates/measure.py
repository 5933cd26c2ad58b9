"""Have steps done under one configuration, and hold what was accepted against the hidden tests."""

from __future__ import annotations

from collections.abc import Sequence

from hidden import load_hidden
from judge import flaw
from prefect_swarm.flows.options import SwarmOptions
from steps import Asked
from swarms import plans_of, run_steps
from tally import Measured, Outcome

__all__ = ["judged", "measure"]


async def measure(name: str, steps: Sequence[Asked], options: SwarmOptions) -> Measured:
    """Have all steps done, plan by plan; what came of them isn't judged yet."""
    outcomes: list[Outcome] = []
    tokens, seconds = 0, 0.0
    for some in plans_of(steps):
        done, spent, took = await run_steps(some, options)
        outcomes += done
        tokens += spent
        seconds += took
    return Measured(configuration=name, outcomes=tuple(outcomes), tokens=tokens, seconds=seconds)


async def judged(measured: Measured) -> Measured:
    """Say of each accepted artifact what is wrong with it, if anything."""
    truths = load_hidden()
    found: list[Outcome] = []
    for outcome in measured.outcomes:
        wrong = await flaw(truths[outcome.id], outcome.artifact) if outcome.accepted else ""
        found.append(outcome.model_copy(update={"flaw": wrong}))
    return measured.model_copy(update={"outcomes": tuple(found)})
