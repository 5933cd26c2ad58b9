"""A run on a disk that fills up: `small_disk.py DISK SCENARIO`, in a mount namespace of its own.

DISK is an empty folder, which becomes a file system of 24 MiB with the runs and Prefect's results
on it. The scenarios are `before`, where nothing is free from the start, `meanwhile`, where S1's
call fills the disk and S2's frees it again, and `throughout`, where it stays full to the end and
the run is resumed then. What came of it is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

DISK, SCENARIO = Path(sys.argv[1]), sys.argv[2]
BALLAST = DISK / "ballast"
asked: Counter[str] = Counter()


def fill() -> None:
    """Leave no room at all, not even for an empty file."""
    with suppress(OSError), BALLAST.open("ab", buffering=0) as file:
        while file.write(bytes(1 << 12)):
            pass
    with suppress(OSError):
        for n in range(1 << 20):
            (DISK / f"ballast-{n}").touch()


def free() -> None:
    for path in DISK.glob("ballast*"):
        path.unlink()


async def scenario() -> dict[str, Any]:
    # Prefect reads its settings when it is imported.
    from flow_runs import plan_of
    from prefect_swarm.errors import StorageError
    from prefect_swarm.flows.options import SwarmOptions
    from prefect_swarm.flows.resume import resume
    from prefect_swarm.flows.swarm import swarm
    from prefect_swarm.runs import find_run
    from scripted import Script, scripted

    logged: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(record.getMessage())

    logging.getLogger("prefect_swarm.runs").addHandler(Listener())

    def reply(prompt: str) -> str:
        asked[prompt[-5:]] += 1
        if prompt.endswith("S1") and SCENARIO != "before":
            fill()
        if prompt.endswith("S2") and SCENARIO == "meanwhile":
            free()
        return f"about {prompt[-5:]}"

    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    if SCENARIO == "before":
        fill()
    found: dict[str, Any] = {"error": None, "logged": logged}
    with scripted(Script(reply)):
        try:
            result = await swarm(plan.objective, plan=plan, options=SwarmOptions(memory=False))
        except StorageError as error:
            return {**found, "error": str(error), "asked": asked, "left": _left()}
        found |= {"status": result.status, "answer": result.answer, "unstored": _unstored(result)}
        if SCENARIO == "throughout":
            free()
            result = await resume(result.run_id)
    stored = find_run(result.run_id)
    found |= {"is_stored": stored.result() == result, "again": result.status}
    return {**found, "asked": asked, "left": _left(), "outputs": stored.finished_steps()}


def _unstored(result: Any) -> list[str]:
    from prefect_swarm.runs import find_run

    return list(find_run(result.run_id).unstored())


def _left() -> list[str]:
    """The temporary files, and the runs."""
    hidden = [path.name for path in DISK.rglob(".*")]
    return [*hidden, *(path.name for path in (DISK / "swarm" / "runs").glob("*"))]


if __name__ == "__main__":
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,nr_inodes=4k", "tmpfs", str(DISK)], check=True
    )
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = str(DISK / "swarm")
    os.environ["PREFECT_LOCAL_STORAGE_PATH"] = str(DISK / "results")
    sys.stdout.write(json.dumps(asyncio.run(scenario())) + "\n")
