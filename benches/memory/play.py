"""Lets players choose in worlds, and adds up what their choices cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from players import PLAYERS, Asked, Player
from world import TYPES, Setting, World

__all__ = ["Make", "play", "played", "recovered", "regrets"]

Make = Callable[[World, np.random.Generator], Player]


def play(name: str, seed: int, setting: Setting, runs: int) -> NDArray[np.float64]:
    """Regret a step, run by run: by how much the best persona's rate is above the chosen one's."""
    return played(PLAYERS[name], seed, setting, runs)


def played(make: Make, seed: int, setting: Setting, runs: int) -> NDArray[np.float64]:
    """Regret a step, run by run, of whoever is made for a world."""
    world = World(seed, setting)
    steps, luck = np.random.default_rng([seed, 2]), np.random.default_rng([seed, 3])
    player = make(world, np.random.default_rng([seed, 4]))
    regret = np.zeros(runs)
    for run in range(runs):
        rates, done = world.rates(run), list[tuple[Asked, int, bool]]()
        for number in range(setting.steps):
            kind = int(steps.integers(TYPES))
            asked = Asked(run, number, kind, world.prompt(kind, steps))
            chosen = player.choose(asked)
            succeeded = bool(luck.random() < rates[kind, chosen])
            done.append((asked, chosen, succeeded != bool(luck.random() < setting.flips)))
            regret[run] += (rates[kind].max() - rates[kind, chosen]) / setting.steps
        for outcome in done:
            player.learn(*outcome)
    return regret


def regrets(
    name: str, seeds: Sequence[int], setting: Setting, runs: int = 1000
) -> NDArray[np.float64]:
    """Regrets of a player, shape (seeds, runs)."""
    return np.array([play(name, seed, setting, runs) for seed in seeds])


def recovered(regret: NDArray[np.float64], drift: int, window: int = 50) -> int | None:
    """Runs after the drift until the mean regret is what it was before; None if never.

    It is what it was if the mean of a window of runs, over all seeds, is no more than 10 % above
    that of the last window before the drift.
    """
    mean = regret.mean(axis=0)
    before = mean[drift - window : drift].mean()
    for end in range(drift + window, len(mean) + 1):
        if mean[end - window : end].mean() <= 1.1 * before:
            return end - drift
    return None
