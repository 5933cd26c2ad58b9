"""A run in a process of its own, which a test stops or kills: `driven_run.py OPTIONS PLAN`."""

from __future__ import annotations

import asyncio
import json
import sys

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.plan.task_ir import parse_plan


async def main(options: str, plan: str) -> None:
    given = parse_plan(json.loads(plan))
    await swarm(given.objective, plan=given, options=SwarmOptions.model_validate_json(options))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
