"""Personas, changes and episodes as tests need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, EpisodeKey, LogEntry
from prefect_swarm.memory.personas.model import Persona
from prefect_swarm.memory.personas.registry import (
    Change,
    DecisionEvidence,
    Registry,
    invent,
    registry_of,
)

__all__ = ["NOW", "TEA", "Book", "attempts_of", "good_evidence", "persona"]

NOW = 1_800_000_000.0
TEA = "You are Tea Expert. You trust only what was measured."


def persona(name: str, *aliases: str, types: Sequence[str] = ("*/text",)) -> Persona:
    return Persona(
        name=name,
        title=name.replace("-", " ").title(),
        instructions=f"You are {name}.",
        task_types=tuple(types),
        aliases=aliases,
        version=1,
    )


def good_evidence(*episodes: EpisodeKey) -> DecisionEvidence:
    """Two attempts of a persona, both of which succeeded."""
    return DecisionEvidence(
        successes=2,
        failures=0,
        rate=1.0,
        low=0.5,
        high=1.0,
        baseline=0.4,
        baseline_samples=9,
        task_types={"chat/text": 2},
        episodes=episodes,
    )


class Book:
    """A registry that changes are appended to, as a store does, in memory."""

    def __init__(self, users: Iterable[Persona] = (), shipped: Iterable[Persona] = ()) -> None:
        self.users = [*users]
        self.shipped = [*shipped]
        self.changes: list[Change] = []

    @property
    def registry(self) -> Registry:
        return registry_of(self.users, self.shipped, self.changes)

    def add(self, *changes: Change | None) -> None:
        for change in changes:
            assert change is not None
            assert change.follows == self.registry.last.get(change.persona, 0)
            number = len(self.changes) + 1
            self.changes.append(change.model_copy(update={"id": number}))

    def invent(self, name: str = "Tea Expert", prompt: str = TEA) -> str:
        change = invent(self.registry, name, prompt, "chat/text", at=NOW)
        self.add(change)
        return self.changes[-1].persona

    def status(self, name: str = "tea-expert") -> str:
        return self.registry.known[name].status


def attempts_of(
    name: str,
    outcomes: Iterable[bool],
    *,
    first: int = 1,
    task_type: str = "chat/text",
    category: Category = Category.LOGIC,
) -> list[LogEntry]:
    """Entries of a persona's attempts, one a run, from a position on."""
    return [
        LogEntry(
            first + n,
            Episode(
                run=f"run{first + n}",
                step="S1",
                attempt=1,
                task_type=task_type,
                prompt="Describe tea",
                persona=name,
                tier="worker",
                model="tests",
                succeeded=succeeded,
                category=None if succeeded else category,
                started_at=NOW,
                ended_at=NOW,
                duration_s=0,
                reward=1.0 if succeeded else -0.5,
            ),
        )
        for n, succeeded in enumerate(outcomes)
    ]
