"""The run whose calls are undone. As a program it is done, and its flow run's id is printed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from shutil import copytree

from prefect_swarm import SwarmOptions, parse_plan, swarm

__all__ = ["do_undone"]

_EXAMPLE = Path(__file__).parents[2] / "examples" / "ledger"


def do_undone(folder: Path) -> str:
    """Book the invoice that isn't paid, with a ledger in that folder; return its flow run's id."""
    here = copytree(_EXAMPLE, folder)
    os.chdir(here)
    text = (here / "plan.json").read_text("utf-8").replace("invoice 47", "invoice 13")
    plan = parse_plan(text)
    options = SwarmOptions(memory=False, mcp=str(here / "ledger.json"))
    return asyncio.run(swarm(plan.objective, plan=plan, options=options)).flow_run_id


if __name__ == "__main__":
    print(do_undone(Path(sys.argv[1])))
