"""Seeded random plans: a DAG, how long each of its steps takes, and how many run at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from simulate import Job

__all__ = ["RandomPlan", "in_levels", "in_reach", "random_plans"]

Edges = list[list[str]]
Shape = Callable[[int, Random], Edges]


@dataclass(frozen=True, slots=True)
class RandomPlan:
    """A plan, the seconds its steps will take, and the slots there are."""

    plan: TaskIR
    durations: dict[str, float]
    slots: int

    def jobs(self, *, known: bool) -> list[Job]:
        """Compile it, with the durations known beforehand or with every step counting as 1."""
        steps = compile_plan(self.plan, durations=self.durations if known else None).steps
        return [
            Job(step.id, step.upstream, self.durations[step.id], step.priority) for step in steps
        ]

    def bounds(self) -> tuple[float, float]:
        """What no scheduler can beat: the critical path, and the work shared among all slots."""
        critical_path = max(job.priority for job in self.jobs(known=True))
        return critical_path, sum(self.durations.values()) / self.slots


def random_plans(count: int, seed: int, shape: Shape) -> Iterator[RandomPlan]:
    """Yield plans of 20 to 300 steps with log-normal durations (σ = 1) and 4 to 100 slots."""
    random = Random(seed)
    for _ in range(count):
        edges = shape(random.randint(20, 300), random)
        steps = [
            {"id": f"S{n}", "agent": "Worker", "prompt": f"Do part {n}", "depends_on": needs}
            for n, needs in enumerate(edges, 1)
        ]
        agents = [{"name": "Worker", "system_prompt": "You work."}]
        plan = parse_plan({"objective": "Measure", "agents": agents, "steps": steps})
        durations = {step.id: random.lognormvariate(0, 1) for step in plan.steps}
        yield RandomPlan(plan, durations, random.randint(4, 100))


def in_reach(size: int, random: Random) -> Edges:
    """Each step needs up to three of those just before it: chains where the reach is short."""
    reach = random.randint(2, size)
    return [_some(range(max(1, n - reach), n), random) for n in range(1, size + 1)]


def in_levels(size: int, random: Random) -> Edges:
    """Steps on 2 to 30 levels; each needs up to three of the levels above it."""
    depth = random.randint(2, 30)
    levels = sorted(random.randrange(depth) for _ in range(size))
    return [_some(range(1, bisect_left(levels, level) + 1), random) for level in levels]


def _some(earlier: range, random: Random) -> list[str]:
    needs = random.sample(earlier, min(len(earlier), random.choice((0, 1, 1, 2, 3))))
    return [f"S{needed}" for needed in sorted(needs)]
