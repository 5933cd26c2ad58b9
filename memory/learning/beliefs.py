"""Beliefs that follow from a log's episodes: a fold in the order of the log. Pure.

Beliefs can be stored as JSON and continued. Folding a log in pieces, or a piece twice, gives the
same as folding all of it. An attempt changes only what it used: its persona, its tier and the
memories it was shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...errors import MemoryStoreError
from ...files import make_folder, write_atomically
from ...plan.task_ir import Tier
from ...untrusted.folder import read_file
from ..episode import Episode, EpisodeKey, LogEntry
from ..log.rows import read_batches
from .credit import DEFAULTS, SILENT, Credit, LearningConfig, Trace, credit, shape_reward
from .evidence import (
    Contribution,
    Duration,
    Pace,
    Tally,
    ValueEstimate,
    expected_duration,
    is_timed,
)

if TYPE_CHECKING:
    from ..protocols import EpisodeLog

__all__ = [
    "Beliefs",
    "OpenRun",
    "Record",
    "Tally",
    "catch_up",
    "clear_beliefs",
    "read_beliefs",
    "void_beliefs",
    "write_beliefs",
]


_CREDITED = 10_000


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Record(_Model):
    """What an attempt has changed, so that blame found later can correct it.

    Attributes:
        shaping: λ at the time.
        persona, tier, memories: What it put into those estimates; memories by `str(EpisodeKey)`.
    """

    trace: Trace
    task_type: str
    shaping: float
    persona: Contribution
    tier: Contribution
    memories: dict[str, Contribution] = Field(default_factory=dict[str, Contribution])


class OpenRun(_Model):
    """A run whose attempts blame can still change.

    Attributes:
        records: By `str(EpisodeKey)`.
        silent: Attempts without a record, since they say nothing about who tried.
        failed: Whether a step has failed for good.
    """

    records: dict[str, Record] = Field(default_factory=dict[str, Record])
    silent: list[Trace] = Field(default_factory=list[Trace])
    failed: bool = False


class Beliefs(_Model):
    """What is believed of one namespace's personas, tiers and memories.

    Attributes:
        config: The figures it was learned with; with others, the log has to be folded again.
        position: Of the last entry that was folded, of any namespace.
        learned: Attempts that were learned from.
        won, lost: Attempts that succeeded and failed, of all; nothing is forgotten here.
        personas, tiers: By task type, then by name.
        memories: By `str(EpisodeKey)`.
        paces: By task type, persona and tier.
        credited: What credit changed, the latest, by `str(EpisodeKey)`.
        open: The latest runs.
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
    tiers: dict[str, dict[str, ValueEstimate]] = Field(
        default_factory=dict[str, dict[str, ValueEstimate]]
    )
    memories: dict[str, ValueEstimate] = Field(default_factory=dict[str, ValueEstimate])
    paces: dict[str, dict[str, dict[str, Pace]]] = Field(
        default_factory=dict[str, dict[str, dict[str, Pace]]]
    )
    credited: dict[str, Credit] = Field(default_factory=dict[str, Credit])
    open: dict[str, OpenRun] = Field(default_factory=dict[str, OpenRun])

    def learn(self, entry: LogEntry) -> None:
        """Learn from the next entry of the log; an entry that was learned from changes nothing."""
        if entry.position <= self.position:
            return
        self.position = entry.position
        episode = entry.episode
        if episode.namespace != self.namespace:
            return
        self._learn_pace(episode)
        run, trace = self._touch_run(episode.run), Trace.from_episode(episode)
        if not episode.succeeded and episode.category in SILENT:
            run.silent.append(trace)
        else:
            run.records[str(episode.key)] = self._record(episode, trace)
        run.failed = run.failed or trace.is_last
        if run.failed:
            self._credit(run)

    def expected_rate(self) -> float:
        """Success rate of all attempts, expected of whatever has none."""
        return Tally(self.won, self.lost).rate

    def persona(self, name: str) -> Tally:
        """A persona's outcomes, over all task types."""
        return _add_up(estimates[name] for estimates in self.personas.values() if name in estimates)

    def task_type(self, name: str) -> Tally:
        """A task type's outcomes, over all personas."""
        return _add_up(self.personas.get(name, {}).values())

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

    def _touch_run(self, name: str) -> OpenRun:
        run = self.open[name] = self.open.pop(name, OpenRun())
        while len(self.open) > self.config.open_runs:
            del self.open[next(iter(self.open))]
        return run

    def _record(self, episode: Episode, trace: Trace) -> Record:
        config, success = self.config, float(episode.succeeded)
        weight = config.shaping * max(0.0, 1 - self.learned / config.shaping_steps)
        contributions: list[Contribution] = []
        for estimates, name in ((self.personas, episode.persona), (self.tiers, episode.tier)):
            estimate = estimates.setdefault(episode.task_type, {}).setdefault(
                name, ValueEstimate(q=config.initial_q)
            )
            target = shape_reward(episode.reward, estimate.samples, self.learned, config)
            contributions.append(estimate.learn(target, success, config.alpha, config.half_life))
        self.learned += 1
        self.won += success
        self.lost += 1 - success
        used: dict[str, Contribution] = {}
        for name in dict.fromkeys(map(str, episode.used)):
            estimate = self.memories.setdefault(name, ValueEstimate(q=config.initial_q))
            used[name] = estimate.learn(
                episode.reward, success, config.memory_alpha, config.half_life
            )
        return Record(
            trace=trace,
            task_type=episode.task_type,
            shaping=weight,
            persona=contributions[0],
            tier=contributions[1],
            memories=used,
        )

    def _credit(self, run: OpenRun) -> None:
        traces = [*(record.trace for record in run.records.values()), *run.silent]
        found = {str(key): worth for key, worth in credit(traces, self.config).items()}
        for name, record in run.records.items():
            new = found.get(name)
            if new == self.credited.get(name):
                continue
            self._correct(record, new)
            if new is None:
                del self.credited[name]
            else:
                self.credited[name] = new
        while len(self.credited) > _CREDITED:
            del self.credited[next(iter(self.credited))]

    def _correct(self, record: Record, found: Credit | None) -> None:
        """Correct all estimates to the credit that was found; None restores the own outcome."""
        config, trace = self.config, record.trace
        own = float(trace.succeeded)
        success = own if found is None else found.success
        gain = 0.0 if found is None or found.reward is None else found.reward - trace.reward
        won, lost = (0.0, 0.0) if success is None else (success, 1 - success)
        self.won += won - record.persona.won
        self.lost += lost - record.persona.lost

        def move(
            estimate: ValueEstimate, contribution: Contribution, weight: float, alpha: float
        ) -> Contribution:
            target = contribution.before if success is None else contribution.first + weight * gain
            return estimate.correct(contribution, target, won, lost, alpha, config.half_life)

        weight = 1 - record.shaping
        estimates = self.personas[record.task_type][trace.persona]
        record.persona = move(estimates, record.persona, weight, config.alpha)
        estimates = self.tiers[record.task_type][trace.tier]
        record.tier = move(estimates, record.tier, weight, config.alpha)
        for name, contribution in record.memories.items():
            record.memories[name] = move(
                self.memories[name], contribution, 1.0, config.memory_alpha
            )


def _add_up(estimates: Iterable[ValueEstimate]) -> Tally:
    found = list(estimates)
    return Tally(sum(estimate.won for estimate in found), sum(estimate.lost for estimate in found))


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
        kept = _StoredBeliefs.model_validate_json(read_file(_path(folder, namespace)))
    except (OSError, ValidationError):
        # They follow from the log, which is read again.
        return Beliefs(namespace=namespace)
    fresh = kept.forgotten == forgotten and kept.beliefs.config == DEFAULTS
    return kept.beliefs if fresh else Beliefs(namespace=namespace)


def write_beliefs(folder: Path, beliefs: Beliefs, forgotten: int) -> None:
    """Store beliefs, atomically.

    Raises:
        MemoryStoreError: The file can't be written.
    """
    path = _path(folder, beliefs.namespace)
    try:
        make_folder(path.parent)
        kept = _StoredBeliefs(forgotten=forgotten, beliefs=beliefs)
        write_atomically(path, kept.model_dump_json())
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
