"""Compare adapters: on questions of worlds that no one was trained on, and on the planning sets.

    python benches/parl_runs/compare.py RUNS/policy.gguf [--sets heldout fresh third]

Each writes one plan for an objective, the likeliest, with llama.cpp and the grammar, as served.
What is measured lies beside the adapter, as `policy.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "planning"))

from graded import figures, measure_graded
from heldout import SETS, load_heldout
from planner import Planner, planner
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.parl.rollout import UNREAD
from wide_search.corpus import Corpus
from wide_search.flaws import FLAWED, ORACLE, Flaws
from wide_search.measure import SEED
from wide_search.questions import make_questions
from wide_search.world import make_world

from parl_runs.frozen import FrozenReader, SearchRuns
from parl_runs.prompts import draw_questions

__all__ = ["compare", "result_file"]

OTHER_SEED, OTHERS = 21, 16


def result_file(adapter: Path) -> Path:
    """Where the figures of an adapter lie."""
    return adapter.with_suffix(".json")


async def compare(adapter: Path | None, sets: Sequence[str]) -> dict[str, Any]:
    """Return the figures of an adapter; of the one that ships, if none."""
    plan = planner("adapter", adapter=adapter)
    found: dict[str, Any] = {"search": await _search(plan)}
    for name in sets:
        results = await measure_graded(load_heldout(SETS[name]), plan, show=False)
        found[name] = figures(results)
        print(name, found[name], flush=True)
    return found


async def _search(plan: Planner) -> list[dict[str, Any]]:
    """Return what plans come to: eight questions of the wide search, and drawn ones."""
    rows: list[dict[str, Any]] = []
    for seed in (SEED, OTHER_SEED):
        world = make_world(seed)
        corpus = Corpus(world.pages)
        readers = {
            "oracle": FrozenReader(corpus, ORACLE),
            "flawed": FrozenReader(corpus, _flawed(seed)),
        }
        drawn = draw_questions(world, seed, OTHERS) if seed == OTHER_SEED else []
        for question in drawn or make_questions(world, seed):
            lines = (await plan(question.text)).lines
            for model, reader in readers.items():
                rollout = SearchRuns(question, reader)(lines)
                about = {"model": model, "question": question.text, "shape": question.shape}
                rows.append({**about, "plan": lines, "read": rollout is not UNREAD})
                rows[-1] |= asdict(rollout)
    for model in ("oracle", "flawed"):
        own = [row for row in rows if row["model"] == model]
        print(model, {key: round(fmean(row[key] for row in own), 3) for key in _SHOWN}, flush=True)
    return rows


_SHOWN = ("r_perf", "r_parallel", "r_finish", "critical_steps", "width", "steps", "seconds")


def _flawed(seed: int) -> Flaws:
    return replace(FLAWED, seed=seed)


def main() -> None:
    """Compare one adapter, and write its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("adapter", type=Path, help="a GGUF file; `ships` is the one that ships")
    parser.add_argument("--sets", nargs="*", default=[*SETS], choices=[*SETS])
    args = parser.parse_args()
    try:
        adapter = None if args.adapter.name == "ships" else args.adapter
        found = asyncio.run(compare(adapter, args.sets))
    finally:
        close_engines()
    result_file(args.adapter).write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
