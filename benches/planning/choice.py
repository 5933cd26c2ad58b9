"""Gain from choosing among several plans of one objective: how many, when, and by what.

    python benches/planning/choice.py [--pairs 100] [--plans 5] [--seed 7] [--adapter FILE.gguf]
        [--json FILE] [--again FILE]

The objectives are generated from patterns that no adapter is trained on. Every one is planned
`--plans` times, the first time greedily; the tables then say what each rule would have chosen.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from prefect_swarm.errors import PlanError
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.parl.agreement import agreement
from prefect_swarm.parl.data.generate import generate
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.line_format import read_lines
from prefect_swarm.tasks.planner.plan_score import Graph, best_index, graph
from prefect_swarm.tasks.planner.planners import AdapterPlanner

THRESHOLDS = (0.0, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.01)
AGREED = (0.0, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Written:
    """One plan that was written: its score, its graph, and whether it is the wanted one.

    One that can't be read has no graph.
    """

    score: float
    graph: Graph
    exact: bool


def best_above(
    plans: Sequence[Written], most: int, threshold: float, agreed: float = 0.0
) -> tuple[Written, int]:
    """The first plan if it scores enough, else the best of all, and how many are written.

    `agreed` is what it adds to a score if all plans have the same graph.
    """
    if plans[0].score >= threshold:
        return plans[0], 1
    found = [plan for plan in plans[:most] if plan.graph]
    if not found:
        return plans[0], most
    scores, graphs = [plan.score for plan in found], [plan.graph for plan in found]
    return found[best_index(scores, graphs, agreed / most)], most


async def write_plans(
    count: int, plans: int, seed: int, adapter: Path | None
) -> list[list[Written]]:
    model = LlamaCppModel(demo_model_path(), planner_adapter=adapter or "default")
    assert model.planner_adapter is not None
    planner = AdapterPlanner(model, model.planner_adapter, samples=plans, threshold=2.0)
    found: list[list[Written]] = []
    began = time.perf_counter()
    for pair in generate(seed, count, part="development"):
        wanted = read_lines(pair.plan, pair.objective)
        try:
            draft = await planner.plan(pair.objective, PlanContext())
        except PlanError:
            found.append([Written(0.0, (), False)] * plans)
            continue
        found.append(
            [
                Written(
                    candidate.score.value,
                    graph(candidate.plan),
                    agreement(candidate.plan, wanted).exact,
                )
                if candidate.plan is not None and candidate.score is not None
                else Written(0.0, (), False)
                for candidate in draft.written
            ]
        )
    seconds = (time.perf_counter() - began) / (count * plans)
    print(f"{count} objectives, {plans} plans each, {seconds:.2f} s a plan\n")
    return found


def tables(found: Sequence[Sequence[Written]]) -> str:
    """Return what each rule would have chosen, and what choosing could be worth at most."""
    plans = len(found[0])
    agreed = " | ".join(f"{share:g} of agreed" for share in AGREED)
    lines = [f"| Plans | threshold | {agreed} | plans written |", f"|--:|--:|{'--:|' * 5}"]
    for most in range(1, plans + 1):
        for threshold in THRESHOLDS if most > 1 else (0.0,):
            rows = [[best_above(row, most, threshold, share) for row in found] for share in AGREED]
            written = sum(number for _, number in rows[0]) / len(found)
            cells = " | ".join(_share(plan.exact for plan, _ in row) for row in rows)
            lines.append(f"| {most} | {threshold:g} | {cells} | {written:.2f} |")
    lines += ["", "| Plans | any is exact |", "|--:|--:|"]
    for most in range(1, plans + 1):
        anyone = _share(any(plan.exact for plan in row[:most]) for row in found)
        lines.append(f"| {most} | {anyone} |")
    return "\n".join(lines)


def _read(saved: dict[str, Any]) -> Written:
    return Written(saved["score"], tuple(map(tuple, saved["graph"])), saved["exact"])


def _share(right: Iterable[bool]) -> str:
    return f"{mean(right):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--plans", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--json", type=Path, help="where to write what was found")
    parser.add_argument("--again", type=Path, help="what --json wrote; plan nothing")
    args = parser.parse_args()
    if args.again:
        saved = json.loads(args.again.read_text(encoding="utf-8"))
        found = [[_read(plan) for plan in row] for row in saved]
    else:
        try:
            found = asyncio.run(write_plans(args.pairs, args.plans, args.seed, args.adapter))
        finally:
            close_engines()
    if args.json:
        text = json.dumps([[asdict(plan) for plan in row] for row in found])
        args.json.write_text(text, encoding="utf-8")
    print(tables(found))


if __name__ == "__main__":
    main()
