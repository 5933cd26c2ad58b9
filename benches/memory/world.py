"""A simulated world: who succeeds at what, hidden from whoever has to choose.

Personas have skills and types of task need them, so that who does well on one type does well on
related ones. Prompts of a type have similar embeddings, and so, less, have those of types that need
the same skill; some types look like what they aren't. Half-way a third of the personas change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["DRIFT", "PERSONAS", "TYPES", "Setting", "World"]

TYPES = 60
PERSONAS = 18
SKILLS = 6
DIMENSION = 256
DRIFT = 500
"""Run from which on the changed personas are at work."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Setting:
    """What kind of world it is.

    Attributes:
        structured: Whether skills decide; if not, every rate is drawn by itself.
        steps: Steps of a run, of a type each.
        misleading: Share of types whose prompts look as if they needed another skill.
        flips: Share of outcomes that are reported wrong.
    """

    structured: bool = True
    steps: int = 4
    misleading: float = 0.1
    flips: float = 0.05


@dataclass(slots=True)
class World:
    """One world, of a seed.

    Attributes:
        before, after: Success rates, shape (types, personas), until the drift and from then on.
        rules: The planner's persona by type, which knows nothing of the rates.
        looks: The skill that a type's prompts look like they need.
    """

    seed: int
    setting: Setting
    before: _Floats = field(init=False)
    after: _Floats = field(init=False)
    rules: NDArray[np.int64] = field(init=False)
    looks: NDArray[np.int64] = field(init=False)
    _centres: _Floats = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 1])
        main = np.arange(TYPES) % SKILLS
        needs = 0.3 * rng.dirichlet(np.ones(SKILLS), TYPES)
        needs[np.arange(TYPES), main] += 0.7
        skills = rng.normal(-1.2, 0.6, (PERSONAS, SKILLS))
        own = np.arange(PERSONAS) % SKILLS
        skills[np.arange(PERSONAS), own] += 2.8
        ease, taste = rng.normal(0, 0.5, (TYPES, 1)), rng.normal(0, 0.5, (TYPES, PERSONAS))
        self.before = _rates(needs, skills, ease + taste)
        # One persona of each skill takes up that of another.
        skills[:SKILLS] = np.roll(skills[:SKILLS], 1, axis=0)
        self.after = _rates(needs, skills, ease + taste)
        if not self.setting.structured:
            self.before = rng.permuted(self.before, axis=1)
            self.after = self.before.copy()
            changed = rng.choice(PERSONAS, PERSONAS // 3, replace=False)
            self.after[:, changed] = rng.permuted(self.before[:, changed], axis=0)
        self.looks = _some_other(main, self.setting.misleading, rng)
        _some_other(own, 0.2, rng)  # unused; without it a seed's world would be another
        self.rules = rng.integers(0, PERSONAS, TYPES)
        area = rng.normal(size=(SKILLS, DIMENSION))
        apart = rng.normal(size=(TYPES, DIMENSION))
        self._centres = (0.72 * area[self.looks] + 0.6 * apart) / np.sqrt(DIMENSION)

    def rates(self, run: int) -> _Floats:
        """Success rates in a run, shape (types, personas)."""
        return self.before if run < DRIFT else self.after

    def prompt(self, kind: int, rng: np.random.Generator) -> _Floats:
        """Embedding of a step's prompt, of length 1."""
        vector = self._centres[kind] + 0.5 * rng.normal(size=DIMENSION) / np.sqrt(DIMENSION)
        return vector / np.linalg.norm(vector)


def _rates(needs: _Floats, skills: _Floats, rest: _Floats) -> _Floats:
    return 1 / (1 + np.exp(-(1.3 * needs @ skills.T + rest)))


def _some_other(
    skills: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    other = rng.integers(0, SKILLS, len(skills))
    return np.where(rng.random(len(skills)) < share, other, skills)
