"""The rule by which a plan is called usable, and the objectives it is applied to.

A plan is usable if all of this holds:

1. It has as many steps as the objective asks for: between the two numbers of `steps`, which leave
   room for a join that nobody asked for, and no more.
2. No step asks what another asks or repeats its own words, and none is about something else
   (`repeated` and `stray` of the plan's score are zero).
3. Every part of the objective has a step of its own whose prompt has the part's words and begins
   with one of `VERBS`: it asks for something instead of answering.
4. Parts that are `apart` can run at the same time: neither needs the other, directly or not, and
   the prompt of the one doesn't speak of the other.
5. Of two parts in `order`, the second needs the first, directly or not.
6. Where the results have to be joined, some other step needs the steps of all parts.

The rule reads words and the graph. It doesn't judge whether a prompt is well put.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from prefect_swarm.plan.task_ir import Step, TaskIR
from prefect_swarm.tasks.planner.plan_coverage import all_needs
from prefect_swarm.tasks.planner.plan_score import score

__all__ = ["VERBS", "Objective", "flaw", "load"]


VERBS = frozenset(
    """answer argue assess calculate check choose collect compare compose count create decide define
    describe design discuss draft edit evaluate examine explain find fix give identify investigate
    list look make name outline plan prepare proofread propose rank rate research review rewrite say
    shorten state suggest summarise summarize tell test think translate turn what weigh
    write""".split()  # noqa: SIM905 (a list of one word a line)
)


@dataclass(frozen=True)
class Objective:
    """An objective and what a usable plan for it shows.

    Attributes:
        kind: What sort of plan it asks for, for the table.
        parts: Name of a part to the pattern of its words.
        apart: Parts that have to be independent.
        order: Pairs of parts of which the second has to need the first.
        join: Whether some step has to need all parts.
        steps: The fewest and the most steps.
    """

    objective: str
    kind: str
    parts: dict[str, str]
    apart: list[str]
    order: list[list[str]]
    join: bool
    steps: list[int]


def load(path: Path) -> list[Objective]:
    """Read objectives, one JSON object a line."""
    return [Objective(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def flaw(plan: TaskIR, wanted: Objective) -> str:
    """Return why a plan isn't usable, or nothing if it is."""
    fewest, most = wanted.steps
    if not fewest <= len(plan.steps) <= most:
        return f"{len(plan.steps)} steps"
    scored = score(plan, wanted.objective)
    if scored.repeated or scored.stray:
        return "; ".join(reason for reason in scored.reasons if "step" not in reason)
    chosen = (
        dict(zip(wanted.parts, steps, strict=True))
        for steps in permutations(plan.steps, len(wanted.parts))
    )
    return "" if any(_fits(plan, steps, wanted) for steps in chosen) else "parts or needs"


def _fits(plan: TaskIR, chosen: dict[str, Step], wanted: Objective) -> bool:
    needs = all_needs(plan.steps)
    ids = {part: step.id for part, step in chosen.items()}
    return (
        all(_asks(step, wanted.parts[part]) for part, step in chosen.items())
        and all(_lone(chosen[part], part, wanted) for part in wanted.apart)
        and not any(
            ids[part] in needs[ids[other]] for part in wanted.apart for other in wanted.apart
        )
        and all(ids[first] in needs[ids[second]] for first, second in wanted.order)
        and (not wanted.join or any(set(ids.values()) <= needs[step.id] for step in plan.steps))
    )


def _asks(step: Step, pattern: str) -> bool:
    verb = step.prompt.split()[0].casefold().strip(",:;.")
    return verb in VERBS and re.search(pattern, step.prompt, re.IGNORECASE) is not None


def _lone(step: Step, part: str, wanted: Objective) -> bool:
    others = (wanted.parts[other] for other in wanted.apart if other != part)
    return not any(re.search(other, step.prompt, re.IGNORECASE) for other in others)
