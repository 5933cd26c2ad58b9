"""The section of docs/reference/benchmarks.md, from what training runs have logged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from prefect_swarm.parl.train.config import POLICY_LOG

__all__ = ["curves", "measured_section", "search_table", "sets_table"]

RUNS = Path(os.environ.get("PARL_RUNS", Path(__file__).parents[2] / "build" / "parl-runs"))
"""Where the runs lie; what is there isn't trained or compared again."""
POLICIES: Mapping[str, Sequence[str]] = {
    "policy": ("--minutes", "35"),
    "no-parallel": ("--minutes", "10", "--parallel", "0"),
    "no-finish": ("--minutes", "10", "--finish", "0"),
    "constant": ("--minutes", "10", "--constant"),
}
_WORDS = {
    "ships": "the adapter that ships",
    "supervised": "supervised, plans of all styles",
    "policy": "PARL",
    "no-parallel": "PARL without r_parallel",
    "no-finish": "PARL without r_finish",
    "constant": "PARL without annealing",
}
_GRADED = ("supervised", "policy")
"""The adapters that are graded on the planning sets."""
_CURVE = (
    "weight_parallel",
    "search.r_perf",
    "pairs.r_perf",
    "r_parallel",
    "r_finish",
    "search.critical_steps",
    "search.width",
    "search.steps",
    "read",
    "clipped",
    "kl",
)
_HEADS = (
    "λ1",
    "r_perf, search",
    "r_perf, pairs",
    "r_parallel",
    "r_finish",
    "critical steps, search",
    "width, search",
    "steps, search",
    "plans read",
    "clipped",
    "KL",
)
_HEAD = """\
## PARL on the runtime

What does a planner become that learns from runs of its own plans? The embedded model first learns
plans of five styles for questions of the wide search, each as often: all by one subagent, one part
after another, parts side by side, a subagent for each column, and parts with steps beside them that
nothing is made of. Then it writes six plans for each of four objectives, two thirds of them
questions of the wide search and one third generated pairs. All plans are executed, and it learns
from their rewards: λ1·r_parallel + λ2·r_finish + r_perf, both weights 0.3 as training begins and 0
after four fifths of the run. r_perf is item F1 of the table, or the agreement with the pair's plan.
[PARL](../background/parl.md#training-on-runs) has the objective, and what is real in a rollout.

Each term as training went on, in the mean over a first, a middle and a last third of the steps:"""


def measured_section() -> str:
    """Train and compare what isn't there yet, and return the section."""
    RUNS.mkdir(parents=True, exist_ok=True)
    supervised = RUNS / "supervised.gguf"
    if not supervised.is_file():
        _run("train.py", "supervised", "--folder", str(RUNS / "supervised"), "--minutes", "10")
    for name, options in POLICIES.items():
        if not (RUNS / f"{name}.gguf").is_file():
            start = ("--start", str(supervised), "--folder", str(RUNS / name))
            _run("train.py", "policy", *start, *options)
    for name in _WORDS:
        if not (RUNS / f"{name}.json").is_file():
            path = RUNS / ("ships" if name == "ships" else f"{name}.gguf")
            sets = [] if name in _GRADED else ["--sets"]
            _run("compare.py", str(path), *sets)
    logs = {name: _lines((RUNS / name / POLICY_LOG).read_text("utf-8")) for name in POLICIES}
    found = {name: json.loads((RUNS / f"{name}.json").read_text("utf-8")) for name in _WORDS}
    return "\n\n".join(
        [_HEAD, curves(logs), _SEARCH, search_table(found), _SETS, sets_table(found)]
    )


def _run(script: str, *arguments: str) -> None:
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _lines(text: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in text.splitlines()]


def curves(logs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return the terms of each run over a first, a middle and a last third of its steps."""
    rows = [f"| Run | steps | {' | '.join(_HEADS)} |", f"|---|---|{'--:|' * len(_HEADS)}"]
    for name, lines in logs.items():
        for first, last in _thirds(len(lines)):
            some = lines[first:last]
            cells = [_mean(key, [line[key] for line in some if key in line]) for key in _CURVE]
            span = f"{int(some[0]['step'])} to {int(some[-1]['step'])}"
            rows.append(f"| {_WORDS[name]} | {span} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _thirds(count: int) -> list[tuple[int, int]]:
    bounds = [count * n // 3 for n in range(4)]
    return [(a, b) for a, b in pairwise(bounds) if b > a]


def _mean(key: str, values: Sequence[float]) -> str:
    if not values:
        return ""
    digits = 1 if key.endswith(("critical_steps", "width", "steps")) else 2
    return f"{fmean(values):.{4 if key == 'kl' else digits}f}"


_SEARCH = """\
The last adapters on 24 questions of two worlds that none was trained on, one plan each, the
likeliest, as served. The oracle reads perfectly, the flawed model tires; seconds are virtual, from
the first step's start to the last one's end:"""
_SETS = """\
Two of them on the planning sets, one plan each, the likeliest: exact and faithful plans."""


def search_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the plans of each adapter come to on the wide search."""
    rows = [
        "| Adapter | plans read | steps | width | critical steps | seconds | r_finish "
        "| item F1, oracle | item F1, flawed |",
        f"|---|{'--:|' * 8}",
    ]
    for name, one in found.items():
        oracle, flawed = (
            [row for row in one["search"] if row["model"] == model]
            for model in ("oracle", "flawed")
        )
        cells = [
            f"{sum(row['read'] for row in oracle)} of {len(oracle)}",
            *(f"{_of(oracle, key):.1f}" for key in ("steps", "width", "critical_steps")),
            f"{_of(oracle, 'seconds'):.0f}",
            f"{_of(oracle, 'r_finish'):.2f}",
            f"{100 * _of(oracle, 'r_perf'):.1f}",
            f"{100 * _of(flawed, 'r_perf'):.1f}",
        ]
        rows.append(f"| {_WORDS[name]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _of(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    return fmean(float(row[key]) for row in rows)


def sets_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how the plans of adapters are graded on each planning set that they have."""
    sets = list(dict.fromkeys(key for one in found.values() for key in one if key != "search"))
    rows = [f"| Adapter | {' | '.join(sets)} |", f"|---|{'--:|' * len(sets)}"]
    for name, one in found.items():
        if one.keys() & set(sets):
            cells = [_graded(one.get(key)) for key in sets]
            rows.append(f"| {_WORDS[name]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _graded(one: Mapping[str, Any] | None) -> str:
    return f"{one['exact']}, {one['faithful']} of {one['plans']}" if one else ""
