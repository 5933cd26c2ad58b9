"""A lower bound: regret of a Bayesian that knows what nobody could know.

    python benches/memory/informed.py [--seeds 10] [--first-seed 100] [--optimism 0.6]

It believes the log-odds of all pairs of type and persona to be normal, with the spreads that the
world really has, and learns from each outcome what it says of every pair. Three are played for 300
runs: one that is told each step's type and what types look like; one that is told also which
personas share a skill; one that is told who has which skill and which one each type needs.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Literal, get_args

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from machine import describe_machine
from numpy.typing import NDArray
from play import play, played
from players import Asked, Rules
from world import PERSONAS, SKILLS, TYPES, Setting, World

Knowledge = Literal["types", "who is alike", "skills"]
RUNS = 300
WINDOW = 50
_Floats = NDArray[np.float64]
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


class Informed(Rules):
    """Takes the persona with the highest upper bound, by how far is drawn.

    Attributes:
        mean, cov: Of the log-odds of all pairs, by type and then persona.
    """

    def __init__(
        self, world: World, rng: np.random.Generator, informed_of: Knowledge, optimism: float
    ) -> None:
        super().__init__(world, rng)
        self.rng, self.optimism, self.flips = rng, optimism, world.setting.flips
        self.mean, self.cov = _prior(world, informed_of)

    def choose(self, asked: Asked) -> int:
        pairs = slice(asked.kind * PERSONAS, (asked.kind + 1) * PERSONAS)
        width = self.optimism * self.rng.uniform(0, 2)
        bounds = self.mean[pairs] + width * np.sqrt(np.diagonal(self.cov)[pairs])
        return int((bounds + 1e-6 * self.rng.random(PERSONAS)).argmax())

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None:
        at = asked.kind * PERSONAS + persona
        mean, variance = self.mean[at], self.cov[at, at]
        odds = mean + np.sqrt(variance) * _POINTS
        rates = self.flips + (1 - 2 * self.flips) / (1 + np.exp(-odds))
        weights = _WEIGHTS * (rates if succeeded else 1 - rates)
        weights /= weights.sum()
        new = weights @ odds
        gain = self.cov[:, at] / variance
        self.mean += gain * (new - mean)
        self.cov -= np.outer(gain, gain * (variance - weights @ (odds - new) ** 2))


def _prior(world: World, informed_of: Knowledge) -> tuple[_Floats, _Floats]:
    """Mean and covariance of the log-odds, shapes (pairs,) and (pairs, pairs)."""
    types, personas = np.divmod(np.arange(TYPES * PERSONAS), PERSONAS)
    of_type, of_persona = _same(types), _same(personas)
    looks, alike = _same(world.looks[types]), _same(personas % SKILLS)
    # In any case: how hard a type is, and how a persona happens to do on it.
    cov = 0.25 * of_type + 0.25 * of_type * of_persona + 1e-4 * np.eye(len(types))
    if informed_of == "skills":
        cov += of_persona * (0.34 * _same(types % SKILLS) + 0.03 * of_type)
        fits = types % SKILLS == personas % SKILLS
        return 1.3 * (2.8 * np.where(fits, 0.75, 0.05) - 1.2), cov
    if informed_of == "types":
        cov += of_persona * (0.1 + 1.3 * looks + 0.3 * of_type)
    else:
        cov += of_persona * (0.1 + 0.4 * looks) + alike * (looks + 0.3 * of_type)
    return np.full(len(types), -0.5), cov


def _same(labels: NDArray[np.int64]) -> _Floats:
    return (labels[:, None] == labels).astype(np.float64)


def main() -> None:
    """Play the three beside memory, and print their regret at the end and its share."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--optimism", type=float, default=0.6)
    args = parser.parse_args()
    seeds, setting = range(args.first_seed, args.first_seed + args.seeds), Setting()

    def late(regrets: list[_Floats]) -> _Floats:
        return np.array([regret[-WINDOW:].mean() for regret in regrets])

    rules = late([play("rules", seed, setting, RUNS) for seed in seeds]).mean()

    def show(name: str, regrets: list[_Floats]) -> None:
        found = late(regrets)
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        shares = f"{100 * found.mean() / rules:.0f} ± {100 * error / rules:.0f} %"
        print(f"| {name} | {found.mean():.3f} | {shares} |", flush=True)

    print("| | run 300 | of the rules' |\n|---|--:|--:|")
    show("memory", [play("memory", seed, setting, RUNS) for seed in seeds])
    for informed_of in get_args(Knowledge):
        make = partial(Informed, informed_of=informed_of, optimism=args.optimism)
        show(f"told {informed_of}", [played(make, seed, setting, RUNS) for seed in seeds])
    print(f"\n{describe_machine()}, {len(seeds)} seeds from {seeds.start}.")


if __name__ == "__main__":
    main()
