"""Train a planner on the wide search: first on plans of all styles, then on runs of its own.

    python benches/parl_runs/train.py supervised --folder RUNS/supervised --minutes 10
    python benches/parl_runs/train.py policy --start RUNS/supervised.gguf --folder RUNS/policy
        --minutes 35 [--parallel 0] [--finish 0] [--constant] [--search-alone] [--resume]

The adapter is written beside the folder. A third of the prompts of both are generated pairs, whose
plans are worth their agreement with the pair's; `--search-alone` leaves them out. Needs the `train`
extra.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

sys.path.append(str(Path(__file__).parents[1]))

from prefect_swarm.models.llama.gguf import demo_model_path, planner_adapter
from prefect_swarm.parl.data.generate import generate
from prefect_swarm.parl.train import PolicySettings, TrainConfig, export, train, train_policy
from prefect_swarm.parl.train.loop import line
from prefect_swarm.parl.train.policy import PolicyPrompt, agreed_prompts
from wide_search.corpus import Corpus
from wide_search.flaws import FLAWED
from wide_search.world import make_world

from parl_runs.frozen import FrozenReader, SearchRuns
from parl_runs.prompts import STYLES, draw_questions, plan_in_lines

__all__ = ["policy_prompts", "supervised_pairs"]

WORLDS, A_WORLD = (11, 12, 13), 40
SEED, SHORT = 91, 400
"""Of the pairs; the most characters of a pair's plan."""
BRIEF, BRIEF_PLAN = 110, 200
"""The most characters of a question, and of a pair's plan, where whole rounds are written."""


def supervised_pairs(seed: int) -> list[tuple[str, str]]:
    """Return questions with plans of every style, no style more than another, and other pairs."""
    rng = Random(seed)
    pairs = [
        (question.text, plan_in_lines(question.text, style, rng))
        for number in WORLDS
        for question in draw_questions(make_world(number), number, A_WORLD)
        for style in rng.sample(STYLES, 3)
    ]
    pairs += _short_pairs(seed, len(pairs) // 2)
    rng.shuffle(pairs)
    return pairs


def policy_prompts(seed: int, *, pairs: bool = True) -> list[PolicyPrompt]:
    """Return questions of other seeds than those of `supervised_pairs`, and other pairs."""
    rng = Random(seed)
    prompts: list[PolicyPrompt] = []
    for number in WORLDS:
        world = make_world(number)
        subagent = FrozenReader(Corpus(world.pages), replace(FLAWED, seed=number))
        drawn = draw_questions(world, 100 + number, 4 * A_WORLD)
        for question in [each for each in drawn if len(each.text) <= BRIEF][:A_WORLD]:
            plan = max((plan_in_lines(question.text, each, rng) for each in STYLES), key=len)
            prompts.append(
                PolicyPrompt(question.text, plan, SearchRuns(question, subagent), "search")
            )
    if not pairs:
        return prompts
    return [*prompts, *agreed_prompts(_short_pairs(seed + 1, len(prompts) // 2, BRIEF_PLAN))]


def _short_pairs(seed: int, count: int, longest: int = SHORT) -> list[tuple[str, str]]:
    pairs = [(pair.objective, pair.plan) for pair in generate(seed, 12 * count, part="train")]
    return [pair for pair in pairs if len(pair[1]) <= longest][:count]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the last adapter beside the folder."""
    args = _parser().parse_args(arguments)
    base = demo_model_path()
    start = args.start or planner_adapter(base)
    is_policy = args.what == "policy"
    config = TrainConfig(
        lr=args.lr or (2e-4 if is_policy else 4e-4),
        warmup=0.1,
        steps=args.steps,
        minutes=args.minutes,
        batch_tokens=1100,
        eval_every=args.keep_every,
        save_every=2,
        seed=args.seed,
        threads=args.threads,
        device=args.device,
    )
    folder: Path = args.folder
    if is_policy:
        policy = PolicySettings(
            objectives=args.objectives,
            plans=args.plans,
            parallel=args.parallel,
            finish=args.finish,
            annealed=None if args.constant else 0.8,
        )
        assert start is not None, "the embedded model has an adapter"
        result = train_policy(
            policy_prompts(SEED, pairs=not args.search_alone),
            (),
            config,
            policy,
            folder,
            base=base,
            start=start,
            resume=args.resume,
            show=lambda report: print(line(report), flush=True),
        )
    else:
        result = train(
            supervised_pairs(SEED),
            (),
            config,
            folder,
            base=base,
            start=start,
            resume=args.resume,
            show=lambda report: print(line(report), flush=True),
        )
    print(export(result.checkpoints[-1], folder.with_suffix(".gguf")))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("supervised", "policy"))
    parser.add_argument("--folder", type=Path, required=True, help="the run's state and logs")
    parser.add_argument("--start", type=Path, help="an adapter; the one that ships, if none")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--keep-every", type=int, default=20, help="steps between kept adapters")
    parser.add_argument("--lr", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1")
    parser.add_argument("--objectives", type=int, default=4, help="of a round of two steps")
    parser.add_argument("--plans", type=int, default=6, help="K: plans of each objective")
    parser.add_argument("--parallel", type=float, default=0.3, help="λ1 as training begins")
    parser.add_argument("--finish", type=float, default=0.3, help="λ2 as training begins")
    parser.add_argument("--search-alone", action="store_true", help="no generated pairs")
    parser.add_argument("--constant", action="store_true", help="don't anneal the weights")
    return parser


if __name__ == "__main__":
    main()
