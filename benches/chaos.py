"""Losses of runs when processes, the server, the disk or the clock fail at random moments.

`python benches/run.py chaos` strikes 200 times and more; see `kills/`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kills.full_disk import can_mount, run_on_small_disk
from kills.trial import CALLS, Tally, Trial, nursery
from own_prefect import OwnServer

__all__ = ["run"]

SEED = 27
KILLS, SERVER_DEATHS, CLOCKS, DISKS = 200, 10, 20, 10
DAY_S = 86_400.0

HEAD = """\
## Chaos

Does a run lose anything, or pay for anything twice, when what it stands on fails at a random
moment? Runs of 12 steps, four of which fail at first, and an answer, 4 at once: 17 calls of a
model. Each is resumed until it is over. *Asked again*: calls that were under way, at most 4 a
strike. A fault is a call that is missing, asked again after it had succeeded, or asked more often
than that. So is a file left over, a run not completed with all outputs, and a task run that stays
RUNNING or PENDING.

| What fails | Times | Runs | Calls asked again | Faults |
|---|---:|---:|---:|---:|
"""


def run() -> str:
    """Strike, and return the section."""
    with TemporaryDirectory(prefix="prefect-swarm-chaos-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        server = OwnServer(home)
        server.start()
        try:
            tallies = _strike(server, home)
        finally:
            server.kill()
    faults = [f"- {fault}" for tally in tallies.values() for fault in tally.faults]
    rows = [
        f"| {what} | {tally.strikes} | {tally.runs} | {tally.asked_again} | {len(tally.faults)} |"
        for what, tally in tallies.items()
    ]
    return HEAD + "\n".join(rows) + "\n" + "".join(f"\n{fault}" for fault in faults)


def _strike(server: OwnServer, home: Path) -> dict[str, Tally]:
    def trial(name: str, **fields: Any) -> Trial:
        own = home / name
        own.mkdir()
        return Trial(server, own, process, SEED, **fields)

    def restart(_: int) -> None:
        server.kill()
        server.start()

    with nursery(server, home / "nursery.log") as process:
        tallies = {
            "the process is killed": trial("kills").go_on(KILLS),
            "the process is killed, after its clock was set back by a day": trial(
                "clock", back_s=DAY_S
            ).go_on(CLOCKS),
            "the server is killed, and started again": trial("server", strike=restart).go_on(
                SERVER_DEATHS
            ),
        }
    if can_mount():
        tallies["the disk is full from a call to a later one, or to the end"] = _full_disks(
            server, home
        )
    return tallies


def _full_disks(server: OwnServer, home: Path) -> Tally:
    tally, draw = Tally(), random.Random(SEED)
    for number in range(DISKS):
        disk = home / f"disk-{number}"
        disk.mkdir()
        fill = draw.randint(1, CALLS - 1)
        free = draw.choice([0, draw.randint(fill + 1, CALLS)])
        found = run_on_small_disk(disk, fill, free, server.environment)
        tally.runs += 1
        tally.strikes += 1
        tally.asked_again += len(found["asked"]) - CALLS
        tally.faults += _faults(found, f"disk full from call {fill} to {free or 'the end'}")
    return tally


def _faults(found: dict[str, Any], when: str) -> list[str]:
    checks: dict[str, Callable[[], bool]] = {
        "not completed": lambda: (found["status"], found["again"]) == ("completed", "completed"),
        "not stored": lambda: found["is_stored"] and found["outputs"] == 12,
        "files left over": lambda: len(found["left"]) == 1,
        "calls asked again": lambda: max(Counter(found["asked"]).values()) == 1,
    }
    return [f"{when}: {what}" for what, holds in checks.items() if not holds()]


if __name__ == "__main__":
    print(run())
