"""A process of a run on a Dask cluster: `cluster_process.py worker ARGUMENTS…` or `… run ORDER`.

The order is JSON: the run to resume, or the plan to begin with; its options; and the file that
lines are booked in, where a person who is asked about a booking looks.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from noted_tokens import mark_statements
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store import lease
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, Question


def is_booked(question: Question, books: str) -> bool:
    """Say whether the books have the line that a question is about."""
    with suppress(FileNotFoundError):
        return any(line in question.text for line in Path(books).read_text().splitlines())
    return False


async def main(order: dict[str, Any]) -> None:
    """Execute a run to its end; each booking is approved, unless it is in the books already."""

    async def ask(run: RunStore, questions: tuple[Question, ...]) -> None:
        for question in questions:
            was_made = question.asked == "uncertain_call" and is_booked(question, order["books"])
            verdict = "rejected" if was_made else "approved"
            Approvals(run).answer(Answer(question=question.id, verdict=verdict, at=time.time()))

    with controlled(RunControl(ask_person=ask)):
        if order["run"]:
            await resume(order["run"])
        else:
            plan = parse_plan(order["plan"])
            options = SwarmOptions.model_validate(order["options"])
            await swarm(plan.objective, plan=plan, options=options)


if __name__ == "__main__":
    mark_statements()
    what, *arguments = sys.argv[1:]
    if what == "worker":
        from distributed.cli.dask_worker import main as work

        work(arguments)
    else:
        # A lease of who was killed ends soon.
        lease.HEARTBEAT_S, lease.LEASE_S = 0.2, 2.0
        asyncio.run(main(json.loads(arguments[0])))
