"""Effect of gates, retries and samples on failures, measured by hidden tests.

    python benches/gates/run.py [--only single,retry] [--model MODEL] [--coder MODEL] [--seed N]
        [--steps ID,ID] [--memory] [--json FILE]
    python benches/gates/run.py --again FILE

Every configuration does all steps, each in a fresh home, through the flow that users run; then the
hidden tests say of what was accepted whether it is right. `--again` holds the artifacts that
`--json` kept against the hidden tests as they are now.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from configurations import CONFIGURATIONS, configured
from fresh_homes import fresh_home, own_prefect
from machine import describe_machine
from measure import judged, measure
from prefect_swarm.errors import InputError, SwarmError
from steps import Asked, load_steps
from tally import BenchReport, Measured, kinds_table, table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about = "; ".join(f"{name}: {what}" for name, what in CONFIGURATIONS.items())
    parser.add_argument("--only", help=f"configurations, separated by commas. {about}")
    parser.add_argument("--steps", help="ids of steps, separated by commas; all if left out")
    parser.add_argument("--model", default="demo", help="model of every tier")
    parser.add_argument("--coder", default="", help="model of the second tier, of `tier` alone")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first attempts")
    parser.add_argument("--memory", action="store_true", help="have the runs remember and recall")
    parser.add_argument("--json", type=Path, help="where to write what came of every step")
    parser.add_argument("--again", type=Path, help="judge a --json file's artifacts once more")
    return parser.parse_args()


def _chosen(args: argparse.Namespace) -> tuple[list[str], list[Asked]]:
    names = args.only.split(",") if args.only else list(CONFIGURATIONS)
    if unknown := set(names) - set(CONFIGURATIONS):
        known = ", ".join(CONFIGURATIONS)
        raise InputError(f"There is no configuration {', '.join(unknown)}.", f"There are {known}.")
    if not args.coder:
        names = [name for name in names if name != "tier"]
    steps = load_steps()
    if args.steps:
        steps = [asked for asked in steps if asked.id in args.steps.split(",")]
    return names, steps


def _run(args: argparse.Namespace) -> BenchReport:
    names, steps = _chosen(args)
    report = BenchReport(
        machine=describe_machine(), model=args.model, coder=args.coder, seed=args.seed
    )
    with own_prefect():
        for name in names:
            print(f"{name} …", file=sys.stderr)
            options = configured(
                name,
                model=args.model,
                coder=args.coder or None,
                seed=args.seed,
                memory=args.memory,
            )
            with fresh_home():
                measured = asyncio.run(measure(name, steps, options))
            # Kept before they are judged, for --again, should the sandbox fail.
            _keep(_with(report, measured), args.json)
            report = _with(report, asyncio.run(judged(measured)))
            _keep(report, args.json)
            print(table(report), file=sys.stderr)
    return report


def _with(report: BenchReport, measured: Measured) -> BenchReport:
    return report.model_copy(update={"measured": (*report.measured, measured)})


def _keep(report: BenchReport, path: Path | None) -> None:
    if path is not None:
        path.write_text(report.model_dump_json(indent=1), encoding="utf-8")


async def _again(report: BenchReport) -> BenchReport:
    found = [await judged(measured) for measured in report.measured]
    return report.model_copy(update={"measured": tuple(found)})


def _main(args: argparse.Namespace) -> None:
    if args.again:
        saved = BenchReport.model_validate_json(args.again.read_text(encoding="utf-8"))
        report = asyncio.run(_again(saved))
    else:
        report = _run(args)
    print(table(report), kinds_table(report), report.machine, sep="\n\n")


if __name__ == "__main__":
    try:
        _main(_arguments())
    except SwarmError as error:
        sys.exit(str(error))
