"""Quality and cost of a planner's plans.

    python benches/planning/run.py [--set heldout|fresh|third|usable|FILE.jsonl]
        [--planner untrained|grammar|adapter|sampled] [--adapter FILE.gguf] [--model FILE.gguf]
        [--samples 3] [--at-once N] [--show] [--json FILE]
    python benches/planning/run.py [--set heldout|fresh|third|FILE.jsonl] --again FILE

`heldout`, `fresh` and `third` (or a file of the same form) are graded against the plans that are
right: `grade.py` says how; `--again` grades the plans that `--json` wrote once more. `usable` is 30
objectives of which a looser rule says whether a plan is usable: `rule.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from graded import from_json, graded_table, measure_graded, to_json
from heldout import SETS, load_heldout
from planner import PLANNERS, Planner, planner
from prefect_swarm.errors import SwarmError
from prefect_swarm.models.llama.engine import close_engines
from usable import measure_usable, usable_table

__all__ = ["embedded_table"]


async def embedded_table() -> str:
    """Return how the embedded model plans the third set, as `plan` and `run` have it plan."""
    results = await measure_graded(load_heldout(SETS["third"]), planner("sampled"), show=False)
    return graded_table(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", default="heldout", help=f"{', '.join(SETS)}, usable, or a file")
    parser.add_argument(
        "--planner",
        default="grammar",
        choices=PLANNERS,
        help="; ".join(f"{name}: {what}" for name, what in PLANNERS.items()),
    )
    parser.add_argument("--adapter", type=Path, help="a GGUF file; the model's own if left out")
    parser.add_argument("--model", type=Path, help="a GGUF file; the embedded model's if left out")
    parser.add_argument(
        "--samples", type=int, help="the most plans for an objective; 6 or 3 if left out"
    )
    parser.add_argument("--at-once", type=int, default=1, help="objectives planned at once")
    parser.add_argument("--show", action="store_true", help="print every plan")
    parser.add_argument("--json", type=Path, help="where to write the plans and their grades")
    parser.add_argument("--again", type=Path, help="grade the plans of a --json file, write none")
    return parser.parse_args()


async def _main(args: argparse.Namespace) -> None:
    path = SETS.get(args.set, Path(args.set))
    if args.again:
        saved = args.again.read_text(encoding="utf-8")
        print(graded_table(from_json(saved, load_heldout(path))))
        return
    plan = planner(args.planner, path=args.model, adapter=args.adapter, samples=args.samples)
    if args.set == "usable":
        print(usable_table(await measure_usable(plan, show=args.show)))
    else:
        await _graded(args, path, plan)


async def _graded(args: argparse.Namespace, path: Path, plan: Planner) -> None:
    wanted = load_heldout(path)
    results = await measure_graded(wanted, plan, show=args.show, at_once=args.at_once)
    if args.json:
        about = {key: str(getattr(args, key) or "") for key in ("set", "planner", "adapter")}
        args.json.write_text(to_json(results, **about, samples=args.samples), encoding="utf-8")
    print(graded_table(results))


if __name__ == "__main__":
    try:
        asyncio.run(_main(_arguments()))
    except SwarmError as error:
        sys.exit(str(error))
    finally:
        close_engines()
