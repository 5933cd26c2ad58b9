"""Runs every arm on every question, and writes what each run came to, a line of JSON each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

# It is a script of its own as well: see `own_prefect`.
sys.path.append(str(Path(__file__).parents[1]))

from wide_search.arms import ARMS, Arm, take
from wide_search.corpus import Corpus
from wide_search.flaws import FLAWED, ORACLE, Flaws
from wide_search.questions import Question, make_questions
from wide_search.virtual_time import VirtualClock, run_in_virtual_time
from wide_search.world import make_world

__all__ = ["FLAWED", "MODELS", "SEED", "TRIALS", "VARIANTS"]

SEED, EARLIER_SEED, TRIALS = 1, 2, 3


def _trials(flaws: Flaws) -> tuple[Flaws, ...]:
    return tuple(replace(flaws, seed=seed) for seed in range(1, TRIALS + 1))


MODELS = {
    "oracle": (ORACLE,),
    "flawed": _trials(FLAWED),
    "tireless": _trials(replace(FLAWED, tires=0.0)),
    "weary": _trials(replace(FLAWED, tires=0.0007)),
}
VARIANTS = ("tireless", "weary")
"""Models like the flawed one, that two arms alone are measured with."""
COMPARED = ("one agent", "for each")


async def measure(model: str, trials: Sequence[Flaws], clock: VirtualClock) -> None:
    """Print what each arm comes to on each question, with one model, in each of some trials."""
    world = make_world(SEED)
    corpus, questions = Corpus(world.pages), make_questions(world, SEED)
    for flaws, arm in product(trials, ARMS):
        if model in VARIANTS and arm.name not in COMPARED:
            continue
        if arm.memory:
            await _warm(arm, flaws, clock, _namespace(flaws))
        for question in questions:
            await _measured(model, arm, question, corpus, flaws, clock)


async def _measured(
    model: str, arm: Arm, question: Question, corpus: Corpus, flaws: Flaws, clock: VirtualClock
) -> None:
    taken = await take(arm, question, corpus, flaws, clock, _namespace(flaws))
    row = {"model": model, "arm": arm.name, "question": question.id, "trial": flaws.seed}
    print(json.dumps({**row, **asdict(taken)}), flush=True)
    print(row, taken, file=sys.stderr)


def _namespace(flaws: Flaws) -> str:
    return f"trial-{flaws.seed}"


async def _warm(arm: Arm, flaws: Flaws, clock: VirtualClock, namespace: str) -> None:
    """Have the memory know the same questions about another world."""
    world = make_world(EARLIER_SEED)
    corpus = Corpus(world.pages)
    for question in make_questions(world, EARLIER_SEED):
        await take(arm, question, corpus, flaws, clock, namespace)


def main(name: str) -> None:
    """Measure with one model, `flawed`, or one of its trials, `flawed.2`."""
    model, _, trial = name.partition(".")
    trials = [flaws for flaws in MODELS[model] if not trial or flaws.seed == int(trial)]

    def fsync(_: int) -> None:
        """Do without the disk: nothing here is killed, and its seconds don't count."""

    os.fsync = fsync
    clock = VirtualClock()
    run_in_virtual_time(clock, lambda: measure(model, trials, clock))


if __name__ == "__main__":
    main(sys.argv[-1])
