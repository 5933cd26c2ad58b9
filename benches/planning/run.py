"""How many of 30 objectives get a usable plan from a local model, and what a plan costs.

    python benches/planning/run.py [--model FILE.gguf] [--samples 3] [--show]

The objectives are in `objectives.jsonl`, none of them among the prompt's examples nor used to find
the prompt; what counts as usable is said in `rule.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from prefect_swarm.blocks.llama.engine import close_engines
from prefect_swarm.blocks.llama.gguf import demo_model_path
from prefect_swarm.blocks.llama.model import LlamaCppModel
from prefect_swarm.errors import PlanError
from prefect_swarm.tasks.plan import PlanDraft, draft_plan
from prefect_swarm.tasks.plan_lines import write_lines
from rule import Objective, flaw, load


@dataclass(frozen=True)
class Result:
    """One objective's plan; `flaw` is empty if it is usable. `seconds` counts all samples."""

    wanted: Objective
    draft: PlanDraft | None
    flaw: str
    seconds: float


async def measure(wanted: Objective, model: LlamaCppModel, samples: int) -> Result:
    """Plan one objective."""
    began = time.perf_counter()
    try:
        draft = await draft_plan(wanted.objective, model, samples=samples)
    except PlanError as error:
        return Result(wanted, None, str(error), time.perf_counter() - began)
    return Result(wanted, draft, flaw(draft.plan, wanted), time.perf_counter() - began)


def table(results: list[Result]) -> str:
    """Return a markdown table, a row for each kind of objective."""
    lines = [
        "| Objectives | of | valid | usable | with repeats | samples | tokens written | s a plan |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    kinds = dict.fromkeys(result.wanted.kind for result in results)
    rows = [_row(kind, [one for one in results if one.wanted.kind == kind]) for kind in kinds]
    return "\n".join([*lines, *rows, _row("**all**", results)])


def _row(name: str, results: list[Result]) -> str:
    drafts = [result.draft for result in results if result.draft]
    count = len(results)
    figures = [
        str(count),
        str(len(drafts)),
        str(sum(not result.flaw for result in results)),
        str(sum(draft.score.repeated > 0 for draft in drafts)),
        f"{sum(draft.usage.requests for draft in drafts) / count:.1f}",
        f"{sum(draft.usage.output_tokens for draft in drafts) / count:.0f}",
        f"{sum(result.seconds for result in results) / count:.1f}",
    ]
    return f"| {name} | {' | '.join(figures)} |"


def _show(result: Result) -> None:
    print(f"[{result.flaw or 'usable'}] {' '.join(result.wanted.objective.split())}")
    if result.draft:
        print(f"{write_lines(result.draft.plan)}\n")


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=None, help="a GGUF file")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print every plan")
    given = parser.parse_args()
    model = LlamaCppModel(given.model or demo_model_path())
    print(table(await measure_all(model, given.samples, show=given.show)))


async def measure_all(model: LlamaCppModel, samples: int, *, show: bool) -> list[Result]:
    """Plan every objective of the file, one after another."""
    results: list[Result] = []
    for wanted in load(Path(__file__).with_name("objectives.jsonl")):
        results.append(await measure(wanted, model, samples))
        if show:
            _show(results[-1])
    return results


if __name__ == "__main__":
    try:
        asyncio.run(main())
    finally:
        close_engines()
