"""Plan a set of objectives and grade every plan by the one that is right."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from grade import Grade, edge_f1, grade
from heldout import Wanted
from planner import Planned, Planner
from prefect_swarm.tasks.planner.line_format import read_lines, repair_plan

__all__ = ["Measured", "figures", "from_json", "graded_table", "measure_graded", "to_json"]


@dataclass(frozen=True)
class Measured:
    """One objective's plan and its grade. `seconds` counts all samples."""

    wanted: Wanted
    planned: Planned
    grade: Grade
    seconds: float


async def measure_graded(
    wanted: Sequence[Wanted], planner: Planner, *, show: bool, at_once: int = 1
) -> list[Measured]:
    """Plan the objectives, so many of them at once; seconds are a plan's own only one by one."""
    slots = asyncio.Semaphore(at_once)

    async def measured(expected: Wanted) -> Measured:
        async with slots:
            began = time.perf_counter()
            planned = await planner(expected.objective)
            seconds = time.perf_counter() - began
        result = Measured(expected, planned, grade(planned.plan, expected), seconds)
        if show:
            _show(result)
        return result

    return await asyncio.gather(*map(measured, wanted))


def figures(results: Sequence[Measured]) -> dict[str, float | None]:
    """Return what a row of the table says. Counts of plans, shares in 0..1, means a plan."""
    grades = [result.grade for result in results]
    serial = [grade.serial for grade in grades if grade.serial is not None]
    return {
        "plans": len(grades),
        "valid": sum(grade.valid for grade in grades),
        "exact": sum(grade.exact for grade in grades),
        "edge_f1": edge_f1(grades),
        "coverage": _mean([grade.coverage for grade in grades]),
        "faithful": sum(grade.faithful for grade in grades),
        "serial": sum(serial) if serial else None,
        "serial_of": len(serial),
        "duplicates": _mean([grade.duplicates for grade in grades]),
        "tokens": _mean([result.planned.tokens for result in results]),
        "seconds": _mean([result.seconds for result in results]),
    }


def graded_table(results: Sequence[Measured]) -> str:
    """Return a markdown table, a row for each kind of objective and one for all."""
    lines = [
        "| Objectives | of | valid | exact | edge F1 | coverage | faithful | serial left serial "
        "| duplicates | tokens written | s a plan |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    kinds = dict.fromkeys(result.wanted.kind for result in results)
    rows = [
        _row(kind, [result for result in results if result.wanted.kind == kind]) for kind in kinds
    ]
    return "\n".join([*lines, *rows, _row("**all**", results)])


def to_json(results: Sequence[Measured], **about: str | int | None) -> str:
    """Return all that was measured, with what it was measured on."""
    kinds = dict.fromkeys(result.wanted.kind for result in results)
    rows = {
        kind: figures([result for result in results if result.wanted.kind == kind])
        for kind in kinds
    }
    data: dict[str, Any] = {
        **about,
        "all": figures(results),
        "kinds": rows,
        "plans": [
            {
                "id": result.wanted.id,
                "objective": result.wanted.objective,
                "plan": result.planned.lines,
                "grade": asdict(result.grade),
                "samples": result.planned.samples,
                "tokens": result.planned.tokens,
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str, wanted: Sequence[Wanted]) -> list[Measured]:
    """Repair and grade the plans that `to_json` wrote once more, by the objectives as they are now.

    Plans whose objective isn't among `wanted` any more are left out.
    """
    known = {expected.objective: expected for expected in wanted}
    results: list[Measured] = []
    for saved in json.loads(text)["plans"]:
        if (expected := known.get(saved["objective"])) is None:
            continue
        valid = saved["grade"]["valid"]
        plan = repair_plan(read_lines(saved["plan"], expected.objective)).plan if valid else None
        planned = Planned(plan, saved["plan"], saved["samples"], saved["tokens"])
        results.append(Measured(expected, planned, grade(plan, expected), saved["seconds"]))
    return results


def _row(name: str, results: Sequence[Measured]) -> str:
    row = figures(results)
    cells = [
        f"{row['plans']}",
        f"{row['valid']}",
        f"{row['exact']}",
        f"{row['edge_f1']:.2f}",
        f"{row['coverage']:.2f}",
        f"{row['faithful']}",
        "" if row["serial"] is None else f"{row['serial']} of {row['serial_of']}",
        f"{row['duplicates']:.2f}",
        f"{row['tokens']:.0f}",
        f"{row['seconds']:.1f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _show(result: Measured) -> None:
    flaws = "; ".join(result.grade.flaws) or "right"
    print(f"{result.wanted.id} [{flaws}] {' '.join(result.wanted.objective.split())}")
    print(f"{result.planned.lines}\n", flush=True)
