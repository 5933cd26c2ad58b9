"""Does it learn? Regret in a simulated world, run by run, beside others who choose.

    python benches/memory/learning.py [--seeds 20] [--first-seed 0] [--processes 2] [--all]

Seeds 100 and up were used to set the figures of `LearningConfig`; those below never were.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from machine import describe_machine
from numpy.typing import NDArray
from play import play, recovered
from players import PLAYERS
from world import DRIFT, Setting

RUNS = 1000
SHOWN = (100, 300, 500, 600, 1000)
WINDOW = 50
SETTINGS = {
    "Skills, 4 steps a run": Setting(),
    "Skills, 1 step a run": Setting(steps=1),
    "No structure, 4 steps a run": Setting(structured=False),
    "Skills, 20 % misleading, 4 steps a run": Setting(misleading=0.2),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="the other kinds of world, too")
    return parser.parse_args()


def _row(name: str, regret: NDArray[np.float64], rules: NDArray[np.float64]) -> str:
    mean, reference = regret.mean(axis=0), rules.mean(axis=0)
    before = slice(300 - WINDOW, 300)
    cells = [f"{mean[run - WINDOW : run].mean():.3f}" for run in SHOWN]
    share = regret[:, before].mean(axis=1) / reference[before].mean()
    error = share.std(ddof=1) / np.sqrt(len(share)) if len(share) > 1 else 0.0
    after = recovered(regret, DRIFT)
    return (
        " | ".join(
            [
                f"| {name}",
                *cells,
                f"{100 * share.mean():.0f} ± {100 * error:.0f} %",
                f"{100 * mean[:300].sum() / reference[:300].sum():.0f} %",
                "never" if after is None else "at once" if after <= WINDOW else f"{after}",
            ]
        )
        + " |"
    )


def table(setting: Setting, seeds: Sequence[int], pool: Executor) -> str:
    """Play a kind of world under all seeds; a markdown table, a row for each who chooses."""
    found = {
        player: np.array(list(pool.map(partial(play, player, setting=setting, runs=RUNS), seeds)))
        for player in PLAYERS
    }
    shown = " | ".join(f"run {run}" for run in SHOWN)
    last = "after 300, of the rules' | summed to 300, of the rules' | runs to recover"
    rows = [_row(player, found[player], found["rules"]) for player in PLAYERS]
    return "\n".join([f"| | {shown} | {last} |", "|---" + "|--:" * (len(SHOWN) + 3) + "|", *rows])


def main() -> None:
    """Play all settings and print a table of each."""
    args = _arguments()
    names = list(SETTINGS) if args.all else list(SETTINGS)[:3]
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    began = time.monotonic()
    with ProcessPoolExecutor(args.processes) as pool:
        for name in names:
            print(f"\n### {name}\n\n{table(SETTINGS[name], seeds, pool)}", flush=True)
    print(f"\n{describe_machine()}")
    print(f"{len(seeds)} seeds, {time.monotonic() - began:.0f} s in {args.processes} processes.")


if __name__ == "__main__":
    main()
