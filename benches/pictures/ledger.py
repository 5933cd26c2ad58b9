"""The run in turns of the docs: a server stands in for its models. Prints the flow run's id."""

from __future__ import annotations

import asyncio
import json
import re
import time
from types import MappingProxyType
from typing import Any

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from provider_server import Asked, Reply, provider_server

__all__ = ["OBJECTIVE"]

OBJECTIVE = "Which harbour of the ledger of 1911 has the most cranes for its length of quay?"
_PLAN: dict[str, Any] = {
    "create_subagent": [
        {"name": "Archivist", "system_prompt": "You search ledgers of harbours."},
        {"name": "Surveyor", "system_prompt": "You count cranes."},
        {"name": "Engineer", "system_prompt": "You know quays."},
    ],
    "assign_task": [
        {"agent": "Archivist", "prompt": "Name the harbours that the ledger has, one a line."},
        {"agent": "Engineer", "prompt": "Explain in two sentences what counts as a quay."},
    ],
    "look_after": [1],
}
_HARBOURS = MappingProxyType({"Rotterdam": 182, "Antwerp": 141, "Hamburg": 204})
_QUAYS = MappingProxyType({"Antwerp": 12, "Hamburg": 27})
_ANSWER = """Antwerp: 141 cranes at 12 km of quay are 11.8 a kilometre.

Hamburg has more cranes, 204, and 27 km of quay: 7.6 a kilometre. The length of Rotterdam's quays
is not in the ledger, and 182 cranes would need less than 15.5 km to change the answer."""


def _turn(number: int) -> str:
    """Return what the orchestrator writes in a turn after the first."""
    if number == 2:
        tasks = [_task("Surveyor", f"Count the cranes of {name} in 1911.") for name in _HARBOURS]
        return json.dumps({"assign_task": tasks, "look_after": [3, 4, 5]})
    if number == 3:
        tasks = [_task("Engineer", f"How long were the quays of {name}?", 2) for name in _QUAYS]
        return json.dumps({"assign_task": tasks})
    return _ANSWER


def _task(agent: str, prompt: str, *needs: int) -> dict[str, Any]:
    return {"agent": agent, "prompt": prompt, "depends_on": list(needs)}


def _reply(asked: Asked) -> Reply:
    if "write_plan" in json.dumps(asked.body.get("tools") or ""):
        return Reply(tool_args=_PLAN)
    if turn := re.search(r"^Turn (\d+)\.", asked.prompt, re.MULTILINE):
        time.sleep(0.6)
        return Reply(_turn(int(turn[1])))
    for name, count in _HARBOURS.items():
        if f"cranes of {name}" in asked.prompt:
            time.sleep(count / 150)
            return Reply(f"{name} had {count} cranes.")
    for name, length in _QUAYS.items():
        if f"quays of {name}" in asked.prompt:
            time.sleep(1.2)
            return Reply(f"The quays of {name} were {length} km long.")
    if "Name the harbours" in asked.prompt:
        time.sleep(0.8)
        return Reply("\n".join(_HARBOURS))
    time.sleep(2.4)
    return Reply("A quay is a wall that ships lie at. Slopes and piers for one ship don't count.")


async def _run() -> str:
    with provider_server(_reply, models=("qwen2.5-72b-instruct",)) as server:
        options = SwarmOptions(model=server.name("qwen2.5-72b-instruct"), memory=False)
        return (await swarm(OBJECTIVE, options=options)).flow_run_id


if __name__ == "__main__":
    print(asyncio.run(_run()))
