"""The gate bench's steps several times over: does a memory of the earlier passes help?

    python benches/memory/passes.py [--passes 5] [--every 1] [--seed N] [--json FILE]

The embedded model, gates, the default policy. The passes with a memory share one, which is empty
at first; those without take turns with them. Each pass has seeds of its own, the same with and
without. What a pass accepted is no output of the next: each step is written anew.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "gates"))

from by_pass import by_pass
from configurations import configured
from machine import describe_machine
from measure import judged, measure
from prefect_swarm.errors import SwarmError
from prefect_swarm.memory.store import close_stores
from steps import Asked, load_steps
from tally import Measured, Report
from workspace import fresh_home, own_prefect

__all__ = ["measure_passes"]

_SEEDS_APART = 100_000


def measure_passes(passes: int, every: int, seed: int, path: Path | None = None) -> Report:
    """Measure every n-th step in so many passes with a memory, and without by turns.

    Args:
        path: Where to write what is known so far after each pass.
    """
    steps: list[Asked] = load_steps()[::every]
    report = Report(machine=describe_machine(), model="demo", seed=seed)
    found: list[Measured] = []
    with own_prefect(), fresh_home():
        for number in range(passes):
            for memory in (True, False):
                name = f"{'memory' if memory else 'none'}, pass {number + 1}"
                own = seed + number * _SEEDS_APART
                options = configured("default", model="demo", seed=own, memory=memory)
                measured = asyncio.run(measure(name, steps, options))
                done = asyncio.run(judged(measured))
                found.append(done)
                report = report.model_copy(update={"measured": tuple(found)})
                if path:
                    path.write_text(report.model_dump_json(indent=1), encoding="utf-8")
                print(by_pass(found), file=sys.stderr)
        close_stores()
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=5, help="passes with and without a memory")
    parser.add_argument("--every", type=int, default=1, help="take every n-th step only")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first pass")
    parser.add_argument("--json", type=Path, help="where to write what came of every step")
    given = parser.parse_args()
    try:
        report = measure_passes(given.passes, given.every, given.seed, given.json)
    except SwarmError as error:
        sys.exit(str(error))
    print(by_pass(report.measured), report.machine, sep="\n\n")
