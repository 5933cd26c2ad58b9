"""Have a memory know runs of a workload: `prefect-swarm train --from-memory` learns from them.

    python benches/parl_runs/remember.py FOLDER [--runs 40]

Plans with all parts side by side are run for questions of the wide search, through the whole
runtime, with a memory in the folder. `PREFECT_INTEGRATIONS_SWARM_HOME=FOLDER` has commands use it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from own_prefect import run_with_prefect
from wide_search.corpus import Corpus
from wide_search.flaws import ORACLE
from wide_search.virtual_time import VirtualClock, run_in_virtual_time
from wide_search.world import make_world

from parl_runs.prompts import draw_questions, plan_in_lines
from parl_runs.runtime import run_whole

__all__ = ["remember"]

WORLD = 31


async def remember(runs: int, clock: VirtualClock) -> None:
    """Run a plan for so many questions."""
    world = make_world(WORLD)
    corpus, rng = Corpus(world.pages), Random(WORLD)
    for question in draw_questions(world, WORLD, runs):
        text = plan_in_lines(question.text, "parallel", rng)
        rollout = await run_whole(question, text, corpus, ORACLE, clock, memory=True)
        print(question.text, rollout, flush=True)


def main() -> None:
    """Start a server and run beside it; or, in the process that is started so, run."""
    if "--here" not in sys.argv:
        parser = argparse.ArgumentParser(
            description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        parser.add_argument("folder", type=Path)
        parser.add_argument("--runs", type=int, default=40)
        args = parser.parse_args()
        print(run_with_prefect(__file__, str(args.folder.absolute()), str(args.runs)))
        return
    folder, runs = sys.argv[-2:]
    os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = folder
    clock = VirtualClock()
    run_in_virtual_time(clock, lambda: remember(int(runs), clock))


if __name__ == "__main__":
    main()
