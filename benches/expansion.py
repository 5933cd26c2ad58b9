"""What an instance of a step for each item costs, beside a step of a plan without any."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import partial
from tempfile import TemporaryDirectory

from fixed_latency import independent, run_plan
from own_prefect import OwnServer, own_server
from prefect_swarm.plan.task_ir import MAX_STEPS, TaskIR, parse_plan
from shapes import waiting

__all__ = ["run"]

SLOTS = 100
STEPS = MAX_STEPS - 1
FEW, MANY, MOST = 100, 1_000, 2_000
ROUNDS = 2
GOAL_RATIO, GOAL_KB = 1.0, 150.0
"""Goals: an instance costs no more than a step, and the process grows by no more kB for one."""
HEAD = f"""\
## Expansion

What does an instance of a `for_each` cost, beside a step that the plan names itself? A real server
on the same machine, a model that takes no time, {SLOTS} at once. Each run is in a process of its
own, after a small one. A plan has {STEPS} steps like these at most: so many plain steps and as
many instances take turns, {ROUNDS} times, and the quickest counts. Then come {MANY:,} instances,
and {MOST:,}. Seconds from the flow's first line to its last, and CPU of the flow's process, by the
number of steps; goal: no more than a step's. Memory is the most that the process has, minus that
with {FEW} instances, by the instances that there are more; goal: {GOAL_KB:g} kB.

| Pages | What | Seconds, each | ÷ a step's | CPU, each | ÷ a step's | Memory, each |
|---|---|---:|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run came to.

    Attributes:
        inside: Seconds from the flow's first line to its last.
        cpu: Seconds of CPU of the flow's process.
        peak_kb: The most memory that the process had, in kB.
    """

    inside: float
    cpu: float
    peak_kb: int


def run() -> str:
    """Measure beside a server of our own and return the table."""
    with own_server() as server:
        return "\n".join([HEAD, *_rows(server, pages=True), *_rows(server, pages=False)])


def _rows(server: OwnServer, *, pages: bool) -> list[str]:
    shown = "on" if pages else "off"
    alike = [("steps", STEPS), ("instances", STEPS)]
    many = [("instances", MANY), ("instances", MOST)]
    few = _spent(server, "instances", FEW, pages=pages)
    rounds = [[_spent(server, *way, pages=pages) for way in alike] for _ in range(ROUNDS)]
    taken = [_best(spent) for spent in zip(*rounds, strict=True)]
    taken += [_spent(server, *way, pages=pages) for way in many]
    step, size = taken[0], STEPS
    rows: list[str] = []
    for (what, count), spent in zip((*alike, *many), taken, strict=True):
        cells: list[str] = []
        for each, of_step in (
            (spent.inside / count, step.inside / size),
            (spent.cpu / count, step.cpu / size),
        ):
            ratio = each / of_step
            cells += [f"{1000 * each:.1f} ms", _marked(f"{ratio:.2f}", ratio, GOAL_RATIO)]
        kilobytes = (spent.peak_kb - few.peak_kb) / (count - FEW)
        cells.append(_marked(f"{kilobytes:.0f} kB", kilobytes, GOAL_KB))
        rows.append(f"| {shown} | {count:,} {what} | " + " | ".join(cells) + " |")
    return rows


def _marked(shown: str, figure: float, goal: float) -> str:
    return shown if round(figure, 2) <= goal else f"**{shown}**"


def _best(spent: tuple[Spent, ...]) -> Spent:
    return Spent(
        min(each.inside for each in spent),
        min(each.cpu for each in spent),
        min(each.peak_kb for each in spent),
    )


def _spent(server: OwnServer, what: str, count: int, *, pages: bool) -> Spent:
    """Run a plan of so many steps or instances in a process of its own."""
    # A home of its own: what earlier runs taught would take time and memory in later ones.
    with TemporaryDirectory(dir=server.home, ignore_cleanup_errors=True) as own:
        ended = subprocess.run(
            [
                sys.executable,
                __file__,
                "--here",
                what,
                str(count),
                "pages" if pages else "no pages",
            ],
            env=server.environment | {"PREFECT_INTEGRATIONS_SWARM_HOME": own},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return Spent(**json.loads(ended.stdout))


async def measure(what: str, count: int, *, pages: bool) -> Spent:
    """Run one plan on the Prefect server that is configured."""
    plan_of = instances if what == "instances" else partial(independent, seconds=0)
    await run_plan(plan_of(10), SLOTS, pages=pages)
    taken = await run_plan(plan_of(count), SLOTS, pages=pages)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Spent(taken.inside, taken.cpu, peak)


def instances(count: int) -> TaskIR:
    """Return a plan of one step, for each of so many items."""
    agents = [{"name": "Item Worker", "system_prompt": "You do one item of a larger job."}]
    step = {
        "id": "S1",
        "agent": "Item Worker",
        "prompt": f"{{item}}: {waiting(0)}",
        "for_each": {"items": [str(n) for n in range(1, count + 1)], "max_items": count},
    }
    return parse_plan({"objective": f"Do {count} items", "agents": agents, "steps": [step]})


if __name__ == "__main__":
    if "--here" in sys.argv:
        _, _, name, number, shows = sys.argv
        spent = asyncio.run(measure(name, int(number), pages=shows == "pages"))
        print(json.dumps(asdict(spent)))
    else:
        print(run())
