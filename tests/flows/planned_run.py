"""A run in a process of its own whose plan a server writes, for tests to kill: `… MODEL OBJECTIVE`.

What happens is printed line by line, so that whoever reads it knows when to kill.
"""

from __future__ import annotations

import asyncio
import sys

from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.store.events import RunEvent


def _say(event: RunEvent) -> None:
    sys.stdout.write(f"{event.kind} {event.step or event.run}\n")
    sys.stdout.flush()


async def _main(model: str, objective: str) -> None:
    with controlled(RunControl(listener=_say)):
        await swarm(objective, options=SwarmOptions(model=model, memory=False))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
