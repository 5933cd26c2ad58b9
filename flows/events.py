"""What the schedule is told and what it answers: its events and its commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..errors import Category

__all__ = [
    "AttemptFinished",
    "Cancel",
    "Cancelled",
    "Command",
    "ConcurrencyLimits",
    "Event",
    "Finish",
    "Launch",
    "PlanExtended",
    "RunStatus",
    "Schedulable",
    "Skip",
    "StepStatus",
]

StepStatus = Literal["waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled"]
RunStatus = Literal["completed", "partial", "failed"]


class Schedulable(Protocol):
    """What the schedule has to know of a step; a `CompiledStep` is one."""

    @property
    def id(self) -> str: ...
    @property
    def tier(self) -> str: ...
    @property
    def upstream(self) -> tuple[str, ...]: ...
    @property
    def optional(self) -> bool: ...
    @property
    def priority(self) -> float: ...


@dataclass(frozen=True, slots=True)
class ConcurrencyLimits:
    """How much may run at once: in all, and on each tier that has a limit of its own."""

    max_concurrency: int
    tiers: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class PlanExtended:
    """Steps were added: the first plan, or another stage. Each needs only steps already there.

    Attributes:
        done: Ids of those that had succeeded before; they are never launched.
        begun: Ids of those whose work is under way already; they are launched first.
    """

    steps: tuple[Schedulable, ...]
    done: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """A launched attempt ended.

    Attributes:
        outcome: `retry` puts the step back among the ready ones; the others end it. A `waived`
            step is skipped, and what depends on it goes on as if it had been optional.
        tier: The tier of the next attempt, for `retry`; None keeps the last one.
    """

    step: str
    outcome: Literal["succeeded", "failed", "skipped", "waived", "retry", "cancelled"]
    tier: str | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nothing more is to start, and what runs is to stop."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Start this attempt (counted from 1) of the step on that tier now."""

    step: str
    attempt: int
    tier: str


@dataclass(frozen=True, slots=True)
class Skip:
    """The step will never run, because `cause`, a required step above it, did not succeed."""

    step: str
    cause: str
    category: Category = Category.UPSTREAM


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the step's running attempt; its `AttemptFinished` is still awaited."""

    step: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Every step is over: `completed` if all required ones succeeded, `failed` if none did."""

    status: RunStatus


Event = PlanExtended | AttemptFinished | Cancelled
Command = Launch | Skip | Cancel | Finish
