"""The gate bench's steps several times over: does a memory of the earlier passes help?

    python benches/memory/passes.py [--passes 5] [--every 1] [--seed N] [--json FILE]

The embedded model, gates, the default policy. The passes with a memory share one, which is empty
at first. Those without run beside them, in a process of their own; each side has half of the cores.
Each pass has seeds of its own, the same with and without. What a pass accepted is not used by the
next: each step is written again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Generator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "gates"))

from by_pass import by_pass
from configurations import configured
from fresh_homes import fresh_home, own_prefect
from machine import describe_machine
from measure import judged, measure
from prefect_swarm.errors import SwarmError
from prefect_swarm.memory.store import close_stores
from steps import load_steps
from tally import BenchReport, Measured

__all__ = ["measure_passes"]

_SEEDS_APART = 100_000


def measure_passes(passes: int, every: int, seed: int, path: Path | None = None) -> BenchReport:
    """Measure every n-th step in so many passes with a memory, and as many without.

    Args:
        path: Where to write what is known so far after each pass.
    """
    report = BenchReport(machine=describe_machine(), model="demo", seed=seed)
    sides: dict[bool, list[Measured]] = {True: [], False: []}
    for memory, measured_pass in _as_they_end(passes, every, seed):
        sides[memory].append(measured_pass)
        pairs = zip(sides[True], sides[False], strict=False)
        measured = tuple(measured_pass for both in pairs for measured_pass in both)
        report = report.model_copy(update={"measured": measured})
        if path:
            path.write_text(report.model_dump_json(indent=1), encoding="utf-8")
        if measured:
            print(by_pass(measured), file=sys.stderr)
    if len(report.measured) < 2 * passes:
        sys.exit("A side of the bench ended early; what it said is above.")
    return report


def _as_they_end(passes: int, every: int, seed: int) -> Generator[tuple[bool, Measured]]:
    """Start both sides; yield each pass as it ends, and whether it had a memory."""
    cores = sorted(os.sched_getaffinity(0))
    context = get_context("spawn")
    ends: dict[Connection, bool] = {}
    for memory, own in ((True, cores[::2]), (False, cores[1::2] or cores)):
        mine, yours = context.Pipe(duplex=False)
        asked = (memory, passes, every, seed, own, yours)
        context.Process(target=_side, args=asked).start()
        yours.close()
        ends[mine] = memory
    while ends:
        for mine in wait(list(ends)):
            assert isinstance(mine, Connection)
            try:
                yield ends[mine], mine.recv()
            except EOFError:
                del ends[mine]


def _side(
    memory: bool, passes: int, every: int, seed: int, cores: list[int], results: Connection
) -> None:
    """Do all passes of one side on these cores, and tell of each as it ends."""
    os.sched_setaffinity(0, cores)
    steps = load_steps()[::every]
    with own_prefect(), fresh_home():
        for number in range(passes):
            name = f"{'memory' if memory else 'none'}, pass {number + 1}"
            own = seed + number * _SEEDS_APART
            options = configured("default", model="demo", seed=own, memory=memory)
            measured = asyncio.run(measure(name, steps, options))
            results.send(asyncio.run(judged(measured)))
        close_stores()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=5, help="passes with and without a memory")
    parser.add_argument("--every", type=int, default=1, help="take every n-th step only")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first pass")
    parser.add_argument("--json", type=Path, help="where to write what came of every step")
    args = parser.parse_args()
    try:
        report = measure_passes(args.passes, args.every, args.seed, args.json)
    except SwarmError as error:
        sys.exit(str(error))
    print(by_pass(report.measured), report.machine, sep="\n\n")
