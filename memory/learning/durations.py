"""How long attempts take, by what is done, who does it and on which tier."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ...errors import Category
from .credit import SILENT

__all__ = ["Duration", "Pace", "expected_duration", "is_timed"]

_PRIOR = 2.0
_SHORTEST_S = 1e-3
_UNTIMED = SILENT | {Category.EARLY_ABORT}


class Duration(NamedTuple):
    """Expected seconds, a geometric mean, and how many attempts of the same kind it is based on."""

    seconds: float
    samples: int


class Pace(BaseModel):
    """A running mean of the logarithm of seconds; older attempts count less."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    total: float = 0.0
    weight: float = 0.0
    samples: int = 0

    def learn(self, seconds: float, half_life: float) -> None:
        """Add a duration."""
        kept = 0.5 ** (1 / half_life)
        self.total = self.total * kept + math.log(max(seconds, _SHORTEST_S))
        self.weight = self.weight * kept + 1
        self.samples += 1


def is_timed(category: Category | None) -> bool:
    """Whether an attempt's duration is typical, by its category; None for a success."""
    return category not in _UNTIMED


def expected_duration(levels: Iterable[Iterable[Pace]], samples: int) -> Duration | None:
    """Expect a duration from paces, level by level, the widest first; None without paces.

    Each level is shrunk towards the previous one, the more the fewer samples it has.
    """
    mean: float | None = None
    for level in levels:
        paces = list(level)
        weight = sum(pace.weight for pace in paces)
        if not weight:
            break
        total = sum(pace.total for pace in paces)
        mean = total / weight if mean is None else (total + _PRIOR * mean) / (weight + _PRIOR)
    return None if mean is None else Duration(math.exp(mean), samples)
