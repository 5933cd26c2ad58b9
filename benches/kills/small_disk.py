"""A run on a disk that fills up: `small_disk.py DISK FILL FREE`, in a mount namespace of its own.

DISK is an empty folder, which becomes a file system of 24 MiB with the runs and Prefect's results
on it. The FILL-th call fills it, before it is answered (0: it is full before the run begins), the
FREE-th frees it again (0: it stays full until the run is over, and is resumed then). What came of
it is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

DISK, FILL, FREE = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def fill() -> None:
    """Leave no room at all, not even for an empty file."""
    with suppress(OSError), (DISK / "ballast").open("ab", buffering=0) as file:
        while file.write(bytes(1 << 12)):
            pass
    with suppress(OSError):
        for n in range(1 << 20):
            (DISK / f"ballast-{n}").touch()


def free() -> None:
    """Take away what filled the disk."""
    for path in DISK.glob("ballast*"):
        path.unlink()


class Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())


async def main() -> dict[str, Any]:
    """Run it, and say what came of it."""
    # Prefect reads its settings when it is imported.
    from prefect_swarm.errors import StorageError
    from prefect_swarm.flows.resume import resume
    from prefect_swarm.flows.swarm import swarm
    from prefect_swarm.models.resolve import override_models
    from prefect_swarm.store.folder import RunFolder
    from work import OPTIONS, PLAN, answering

    asked: list[str] = []

    def handle(line: str) -> None:
        asked.append(line.removeprefix("asked "))
        if len(asked) == FILL:
            fill()
        if len(asked) == FREE:
            free()

    listener = Listener()
    logging.getLogger("prefect_swarm.runs").addHandler(listener)
    model = answering(Path(os.devnull), handle, delay_s=0.0)
    found: dict[str, Any] = {"asked": asked, "logged": listener.lines, "error": ""}
    if FILL == 0:
        fill()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        try:
            result = await swarm(PLAN.objective, plan=PLAN, options=OPTIONS)
        except StorageError as error:
            return {**found, "error": str(error), "left": remaining()}
        stored = RunFolder.find(result.run_id)
        found |= {"status": result.status, "unstored": stored.unstored()}
        if FREE == 0:
            free()
            result = await resume(result.run_id)
    outputs = len(stored.finished_steps())
    found |= {"again": result.status, "is_stored": stored.result() == result, "outputs": outputs}
    return {**found, "left": remaining()}


def remaining() -> list[str]:
    """The names of temporary files and of runs."""
    hidden = [path.name for path in DISK.rglob(".*")]
    return [*hidden, *(path.name for path in (DISK / "swarm" / "runs").glob("*"))]


if __name__ == "__main__":
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,nr_inodes=4k", "tmpfs", str(DISK)], check=True
    )
    os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = str(DISK / "swarm")
    os.environ["PREFECT_LOCAL_STORAGE_PATH"] = str(DISK / "results")
    sys.stdout.write(json.dumps(asyncio.run(main())) + "\n")
