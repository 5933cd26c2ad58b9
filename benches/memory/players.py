"""Whoever chooses personas in the simulated world."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from prefect_swarm.memory.episode import EpisodeKey
from prefect_swarm.memory.learning.beliefs import Tally, ValueEstimate
from prefect_swarm.memory.learning.choice import choose_persona, step_rng
from prefect_swarm.memory.learning.evidence import Evidence
from prefect_swarm.memory.learning.reward import DEFAULTS, LearningConfig, reward_of
from world import DIMENSION, DRIFT, PERSONAS, TYPES, World

__all__ = ["PLAYERS", "Asked", "Player"]

_NAMES = [f"P{number}" for number in range(PERSONAS)]


class Asked:
    """A step: its run, number, type and prompt's embedding."""

    __slots__ = ("kind", "number", "prompt", "run")

    def __init__(self, run: int, number: int, kind: int, prompt: NDArray[np.float64]) -> None:
        self.run, self.number, self.kind, self.prompt = run, number, kind, prompt


class Player(Protocol):
    """Chooses, and is told what came of it once the run is over."""

    def choose(self, asked: Asked) -> int: ...

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None: ...


class Rules:
    """The planner's persona."""

    def __init__(self, world: World, _rng: np.random.Generator) -> None:
        self.world = world

    def choose(self, asked: Asked) -> int:
        return int(self.world.rules[asked.kind])

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None:
        pass


class Fixed(Rules):
    """The persona of each type that is best over all runs, told from outside."""

    def choose(self, asked: Asked) -> int:
        return int((self.world.before + self.world.after)[asked.kind].argmax())


class Oracle(Rules):
    """The best persona, told from outside."""

    def choose(self, asked: Asked) -> int:
        return int(self.world.rates(asked.run)[asked.kind].argmax())


class Greedy(Rules):
    """ε-greedy: the best rate of the type so far, any persona once in ten."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        super().__init__(world, rng)
        self.rng = rng
        self.counts = np.ones((TYPES, PERSONAS, 2))

    def choose(self, asked: Asked) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(PERSONAS))
        won, lost = self.counts[asked.kind].T
        return self._best(asked, won / (won + lost))

    def _best(self, asked: Asked, values: NDArray[np.float64]) -> int:
        rules = super().choose(asked)
        return rules if values[rules] == values.max() else int(values.argmax())

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None:
        self.counts[asked.kind, persona, 0 if succeeded else 1] += 1


class PlainQ(Greedy):
    """The highest Q of the type, Q ← Q + 0.1·(r − Q)."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        super().__init__(world, rng)
        self.q = np.full((TYPES, PERSONAS), DEFAULTS.initial_q)

    def choose(self, asked: Asked) -> int:
        return self._best(asked, self.q[asked.kind])

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None:
        reward = reward_of(succeeded, None).value
        self.q[asked.kind, persona] += DEFAULTS.alpha * (reward - self.q[asked.kind, persona])


class Memory(Rules):
    """What the product does: `choose_persona` over the attempts at the most similar steps."""

    config: LearningConfig = DEFAULTS

    def __init__(self, world: World, _rng: np.random.Generator) -> None:
        super().__init__(world, _rng)
        size = 2 * DRIFT * world.setting.steps
        self.vectors = np.zeros((size, DIMENSION), np.float32)
        self.rows: list[tuple[EpisodeKey, str, float]] = []
        self.won = 0.0
        self.estimates: dict[int, dict[str, ValueEstimate]] = {}

    def choose(self, asked: Asked) -> int:
        rules = _NAMES[super().choose(asked)]
        choice = choose_persona(
            [rules, *(name for name in _NAMES if name != rules)],
            self._similar(asked),
            (self.won + 1) / (len(self.rows) + 2),
            step_rng(str(asked.run), str(asked.number), self.world.seed),
            tallies={
                name: Tally(estimate.won, estimate.lost)
                for name, estimate in self.estimates.get(self._type(asked), {}).items()
            },
            config=self.config,
        )
        return _NAMES.index(choice.picked)

    def _type(self, asked: Asked) -> int:
        """The task type as the product has it: coarse, what the prompt looks like it needs."""
        return int(self.world.looks[asked.kind])

    def _similar(self, asked: Asked) -> list[Evidence]:
        similarity = self.vectors[: len(self.rows)] @ asked.prompt.astype(np.float32)
        count = self.config.neighbours
        found = np.flatnonzero(similarity > self.config.related - self.config.ramp / 2)
        if len(found) > count:
            found = found[np.argpartition(-similarity[found], count)[:count]]
        return [
            Evidence(key, int(at), float(similarity[at]), persona, "worker", success)
            for at in found
            for key, persona, success in [self.rows[at]]
        ]

    def learn(self, asked: Asked, persona: int, succeeded: bool) -> None:
        self.vectors[len(self.rows)] = asked.prompt
        key = EpisodeKey(str(asked.run), str(asked.number), 1)
        self.rows.append((key, _NAMES[persona], float(succeeded)))
        self.won += succeeded
        estimates = self.estimates.setdefault(self._type(asked), {})
        estimate = estimates.setdefault(_NAMES[persona], ValueEstimate(q=self.config.initial_q))
        reward = reward_of(succeeded, None).value
        estimate.learn(reward, float(succeeded), self.config.alpha, self.config.half_life)


PLAYERS: dict[str, type[Rules]] = {
    "rules": Rules,
    "ε-greedy": Greedy,
    "plain Q": PlainQ,
    "memory": Memory,
    "best fixed": Fixed,
    "oracle": Oracle,
}
