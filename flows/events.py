"""What the schedule is told and what it answers: its events and its commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..errors import Category

__all__ = [
    "UNFINISHED",
    "Approved",
    "Ask",
    "AttemptFinished",
    "Cancel",
    "Cancelled",
    "Command",
    "ConcurrencyLimits",
    "Edited",
    "Event",
    "Finish",
    "Launch",
    "PlanExtended",
    "Rejected",
    "Replace",
    "RunStatus",
    "Schedulable",
    "Skip",
    "StepStatus",
    "Wait",
]

StepStatus = Literal[
    "waiting", "asked", "ready", "running", "succeeded", "failed", "skipped", "cancelled"
]
"""`asked`: the step could run, and waits for a person."""
UNFINISHED: frozenset[StepStatus] = frozenset({"waiting", "asked", "ready", "running"})
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
        under_way: Ids of those whose work is under way already; they are launched first.
        approval: Ids of those that a person is asked about when their inputs are there.
        asked: Whether a person is asked about the plan; until then nothing is launched.
    """

    steps: tuple[Schedulable, ...]
    done: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()
    approval: frozenset[str] = frozenset()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """A launched attempt ended.

    Attributes:
        outcome: `retry` puts the step back among the ready ones; the others end it. A `waived`
            step is skipped, and what depends on it goes on as if it had been optional. One that
            `asked` isn't over: it waits for a person in its middle, and is launched again.
        tier: The tier of the next attempt, for `retry`; None keeps the last one.
        asks: Whether a person is asked before the next attempt, for `retry`.
        questions: Ids of what an attempt that `asked` has asked; the schedule doesn't read them.
    """

    step: str
    outcome: Literal["succeeded", "failed", "skipped", "waived", "retry", "asked", "cancelled"]
    tier: str | None = None
    asks: bool = False
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approved:
    """A person approved what a step waits for; of the plan, if the step is ""."""

    step: str = ""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A person rejected what a step waits for, which ends it; "" is the plan, and all ends."""

    step: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """Another plan is to take this one's place: what runs ends, and nothing more starts."""


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
class Ask:
    """Ask a person about the step, or about the plan if the step is "".

    Attributes:
        attempt: The attempt that waits for the answer, counted from 1; 0 for the plan.
        begun: Whether that attempt waits in its middle.
    """

    step: str = ""
    attempt: int = 0
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing runs or can start before a person has answered."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Nothing runs any more: the edited plan may take this one's place."""


@dataclass(frozen=True, slots=True)
class Skip:
    """The step will never run, because `cause`, a required step above it, did not succeed.

    The cause is "" where the plan was rejected.
    """

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


Event = PlanExtended | AttemptFinished | Approved | Rejected | Edited | Cancelled
Command = Launch | Ask | Wait | Skip | Cancel | Replace | Finish
