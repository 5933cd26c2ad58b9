"""Beliefs, a fold over the log's episodes: Q-values and durations; and the file that keeps them.

Beliefs can be stored as JSON and continued. Folding a log in pieces, or a piece twice, gives the
same as folding all of it. An attempt changes only what it used: its persona and the memories that
it was shown.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import Category, MemoryStoreError
from ...files import make_folder, write_atomically
from ...plan.task_ir import Tier
from ...untrusted.folder import read_file
from ..episode import Episode, EpisodeKey, LogEntry
from ..log.rows import read_batches
from .reward import DEFAULTS, SILENT, LearningConfig, shape_reward

if TYPE_CHECKING:
    from ..protocols import EpisodeLog

__all__ = [
    "Beliefs",
    "Duration",
    "Pace",
    "Tally",
    "ValueEstimate",
    "catch_up",
    "clear_beliefs",
    "expected_duration",
    "is_timed",
    "read_beliefs",
    "void_beliefs",
    "write_beliefs",
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


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
        decay = 0.5 ** (1 / half_life)
        self.total = self.total * decay + math.log(max(seconds, _SHORTEST_S))
        self.weight = self.weight * decay + 1
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


class Tally(NamedTuple):
    """Outcomes by weight: how many succeeded and failed."""

    won: float
    lost: float

    @property
    def rate(self) -> float:
        """Success rate, shrunk towards one half."""
        return (self.won + 1) / (self.won + self.lost + 2)


class ValueEstimate(_Model):
    """A belief.

    Attributes:
        q: Expected reward.
        won, lost: Outcomes, older ones counting less: a Beta posterior's counts without its prior.
        samples: Outcomes ever.
    """

    q: float
    won: float = 0.0
    lost: float = 0.0
    samples: int = 0

    def learn(self, target: float, success: float, alpha: float, half_life: float) -> None:
        """Learn from an outcome: a reward to move towards, and a success from 0 to 1."""
        decay = 0.5 ** (1 / half_life)
        self.q += alpha * (target - self.q)
        self.won = self.won * decay + success
        self.lost = self.lost * decay + 1 - success
        self.samples += 1


class Beliefs(_Model):
    """What is believed of one namespace's personas and memories: their Q-values and durations.

    Attributes:
        config: The figures it was learned with; with others, the log has to be folded again.
        position: Of the last entry that was folded, of any namespace.
        learned: Attempts that were learned from.
        won, lost: Attempts that succeeded and failed, of all; nothing is forgotten here.
        personas: By task type, then by name.
        memories: By `str(EpisodeKey)`.
        paces: By task type, persona and tier.
    """

    namespace: str = "default"
    config: LearningConfig = DEFAULTS
    position: int = 0
    learned: int = 0
    won: float = 0.0
    lost: float = 0.0
    personas: dict[str, dict[str, ValueEstimate]] = Field(
        default_factory=dict[str, dict[str, ValueEstimate]]
    )
    memories: dict[str, ValueEstimate] = Field(default_factory=dict[str, ValueEstimate])
    paces: dict[str, dict[str, dict[str, Pace]]] = Field(
        default_factory=dict[str, dict[str, dict[str, Pace]]]
    )

    def learn(self, entry: LogEntry) -> None:
        """Learn from the next entry of the log; an entry that was learned from changes nothing."""
        if entry.position <= self.position:
            return
        self.position = entry.position
        episode = entry.episode
        if episode.namespace != self.namespace:
            return
        self._learn_pace(episode)
        if episode.succeeded or episode.category not in SILENT:
            self._learn_values(episode)

    def expected_rate(self) -> float:
        """Success rate of all attempts, expected of whatever has none."""
        return Tally(self.won, self.lost).rate

    def persona(self, name: str) -> Tally:
        """A persona's outcomes, over all task types."""
        found = [estimates[name] for estimates in self.personas.values() if name in estimates]
        return Tally(sum(each.won for each in found), sum(each.lost for each in found))

    def tallies(self, task_type: str) -> dict[str, Tally]:
        """Outcomes of each persona on a task type, by name; older outcomes count less."""
        estimates = self.personas.get(task_type, {})
        return {name: Tally(estimate.won, estimate.lost) for name, estimate in estimates.items()}

    def q_of_memory(self, key: EpisodeKey) -> float:
        """Q of a memory; the initial Q if it was never used."""
        estimate = self.memories.get(str(key))
        return self.config.initial_q if estimate is None else estimate.q

    def duration(self, task_type: str, persona: str, tier: Tier) -> Duration | None:
        """Seconds of work that an attempt is expected to take; None if nothing is known."""
        of_type = self.paces.get(task_type, {})
        own = of_type.get(persona, {}).get(tier)
        everywhere = [
            by_tier[tier]
            for personas in self.paces.values()
            for by_tier in personas.values()
            if tier in by_tier
        ]
        here = [by_tier[tier] for by_tier in of_type.values() if tier in by_tier]
        exact = [own] if own is not None else []
        return expected_duration([everywhere, here, exact], own.samples if own is not None else 0)

    def _learn_pace(self, episode: Episode) -> None:
        if not is_timed(episode.category):
            return
        by_tier = self.paces.setdefault(episode.task_type, {}).setdefault(episode.persona, {})
        pace = by_tier.setdefault(episode.tier, Pace())
        pace.learn(episode.duration_s, self.config.duration_half_life)

    def _learn_values(self, episode: Episode) -> None:
        config, success = self.config, float(episode.succeeded)
        estimate = self.personas.setdefault(episode.task_type, {}).setdefault(
            episode.persona, ValueEstimate(q=config.initial_q)
        )
        target = shape_reward(episode.reward, estimate.samples, self.learned, config)
        estimate.learn(target, success, config.alpha, config.half_life)
        self.learned += 1
        self.won += success
        self.lost += 1 - success
        for name in dict.fromkeys(map(str, episode.used)):
            estimate = self.memories.setdefault(name, ValueEstimate(q=config.initial_q))
            estimate.learn(episode.reward, success, config.memory_alpha, config.half_life)


_FOLDER = "beliefs"


class _StoredBeliefs(BaseModel):
    """`forgotten` is the log's number at the time; under another number beliefs are void."""

    model_config = ConfigDict(extra="forbid")

    forgotten: int
    beliefs: Beliefs


def catch_up(log: EpisodeLog, beliefs: Beliefs) -> Beliefs:
    """Learn, in place, from all later entries of the log.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    for entries in read_batches(log, beliefs.position):
        for entry in entries:
            beliefs.learn(entry)
    return beliefs


def read_beliefs(folder: Path, namespace: str, forgotten: int) -> Beliefs:
    """Return the stored beliefs; new ones if they are missing, void or damaged."""
    try:
        stored = _StoredBeliefs.model_validate_json(read_file(_path(folder, namespace)))
    except (OSError, ValidationError):
        # They follow from the log, which is read again.
        return Beliefs(namespace=namespace)
    fresh = stored.forgotten == forgotten and stored.beliefs.config == DEFAULTS
    return stored.beliefs if fresh else Beliefs(namespace=namespace)


def write_beliefs(folder: Path, beliefs: Beliefs, forgotten: int) -> None:
    """Store beliefs, atomically.

    Raises:
        MemoryStoreError: The file can't be written.
    """
    path = _path(folder, beliefs.namespace)
    try:
        make_folder(path.parent)
        stored = _StoredBeliefs(forgotten=forgotten, beliefs=beliefs)
        write_atomically(path, stored.model_dump_json())
    except OSError as error:
        raise MemoryStoreError(
            f"What was learned can't be written to {path}: {error}.",
            "Free disk space, or check the permissions.",
        ) from error


def clear_beliefs(folder: Path) -> None:
    """Remove all stored beliefs."""
    for path in (folder / _FOLDER).glob("*"):
        path.unlink(missing_ok=True)


def void_beliefs(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[Path]:
    """Return the files of beliefs that follow from what was forgotten; see `void_generations`."""
    numbers = {path: _forgotten_of(path) for path in sorted((folder / _FOLDER).glob("*"))}
    return [
        path
        for path, number in numbers.items()
        if number != forgotten and (doubtful or number is not None)
    ]


def _forgotten_of(path: Path) -> int | None:
    try:
        return _StoredBeliefs.model_validate_json(read_file(path)).forgotten
    except (OSError, ValidationError):
        return None


def _path(folder: Path, namespace: str) -> Path:
    return folder / _FOLDER / f"{hashlib.sha256(namespace.encode()).hexdigest()[:16]}.json"
