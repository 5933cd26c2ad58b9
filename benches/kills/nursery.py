"""Forks processes that run or resume a swarm, so that starting one costs no imports.

It reads a line of JSON from standard input for each process: `run` is the run to resume, or null
for a new one, `calls` the file that the model notes its calls in, `delay_s` how long an answer
takes, `back_s` how far the clock is set back after half of the calls.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from forks import fork_each, say
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.events import RunEvent
from work import OPTIONS, PLAN, answering

CALLS_BEFORE = 8


def _handle(event: RunEvent) -> None:
    say(f"{event.kind} {event.step or event.run}".rstrip())


async def _work(command: dict[str, Any]) -> None:
    emit = _say_and_turn_back(command["back_s"]) if command["back_s"] else say
    model = answering(Path(command["calls"]), emit, command["delay_s"])
    with (
        override_models(worker=model, coder=model, architect=model, orchestrator=model),
        controlled(RunControl(listener=_handle)),
    ):
        if command["run"] is None:
            result = await swarm(PLAN.objective, plan=PLAN, options=OPTIONS)
        else:
            result = await resume(command["run"])
    say(f"result {result.status} {result.cost.calls}")


def _say_and_turn_back(seconds: float) -> Any:
    """Say what is said, and set the clock back at the call that is halfway."""
    count, now = [0], time.time

    def emit(text: str) -> None:
        say(text)
        count[0] += 1
        if count[0] == CALLS_BEFORE:
            time.time = lambda: now() - seconds

    return emit


if __name__ == "__main__":
    fork_each(_work)
