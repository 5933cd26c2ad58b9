"""Cost of the schedule, which grows no faster than the plan."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import process_time

from simulate import Job, makespan

__all__ = ["run"]

SIZES = (10_000, 20_000)
SLOTS = 100
FAN = 300
REPEATS = 5


def run() -> str:
    """Drive two sizes of each shape through the schedule and return the table."""
    lines = [
        "## Cost of the schedule",
        "",
        "What does the schedule itself cost, and does it grow faster than the plan? CPU seconds of",
        f"a whole simulated run with {SLOTS} slots, the best of {REPEATS}, with the simulator.",
        "Goal: about a second, and no more than 2.5 times as long for twice the steps.",
        "",
        f"| Shape | {SIZES[0]:,} steps | {SIZES[1]:,} steps | Ratio | Goal |",
        "|---|---:|---:|---:|---|",
    ]
    for name, shape in SHAPES.items():
        small, large = _seconds(shape)
        lines.append(f"| {name} | {small:.2f} s | {large:.2f} s | {large / small:.2f} | ≤ 2.5 |")
    return "\n".join(lines)


def _seconds(shape: Callable[[int], list[Job]]) -> list[float]:
    plans = [shape(size) for size in SIZES]
    # The sizes take turns, so that a busy moment of the machine does not hit one of them alone.
    rounds = [[_cpu_seconds(jobs) for jobs in plans] for _ in range(REPEATS)]
    return [min(taken) for taken in zip(*rounds, strict=True)]


def _cpu_seconds(jobs: list[Job]) -> float:
    start = process_time()
    makespan(jobs, SLOTS)
    return process_time() - start


def _independent(size: int) -> list[Job]:
    return [Job(f"S{number}", (), 1.0) for number in range(size)]


def _chain(size: int) -> list[Job]:
    return [Job(f"S{n}", (f"S{n - 1}",) if n else (), 1.0, size - n) for n in range(size)]


def _random(size: int) -> list[Job]:
    random = Random(size)
    return [
        Job(
            f"S{number}",
            tuple(f"S{needed}" for needed in random.sample(range(number), min(number, 3))),
            random.lognormvariate(0, 1),
            random.random(),
        )
        for number in range(size)
    ]


def _fan_in(size: int) -> list[Job]:
    """Many read one, one reads many, over and over."""
    jobs: list[Job] = []
    while len(jobs) < size:
        above = (jobs[-1].id,) if jobs else ()
        wide = [Job(f"S{len(jobs) + n}", above, 1.0) for n in range(FAN)]
        jobs += [*wide, Job(f"J{len(jobs)}", tuple(job.id for job in wide), 1.0)]
    return jobs[:size]


SHAPES: dict[str, Callable[[int], list[Job]]] = {
    "independent steps": _independent,
    "one chain": _chain,
    "random, 3 inputs a step": _random,
    f"fan-in, {FAN} wide, again and again": _fan_in,
}
