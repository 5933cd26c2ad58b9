"""Events that the schedule takes, and commands that it gives. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import Category
from .compile import CompiledStep

__all__ = [
    "OVER",
    "UNFINISHED",
    "Approved",
    "Ask",
    "AttemptFinished",
    "Cancel",
    "Cancelled",
    "Close",
    "Command",
    "Decide",
    "Decided",
    "Edited",
    "EndStatus",
    "Event",
    "Expand",
    "Expanded",
    "Finish",
    "Launch",
    "Messaged",
    "PlanExtended",
    "Rejected",
    "Replace",
    "RunStatus",
    "Skip",
    "StepStatus",
    "TakeTurn",
    "TurnCause",
    "Wait",
]


EndStatus = Literal["succeeded", "failed", "skipped", "cancelled"]
"""How a step ends."""
StepStatus = Literal["waiting", "asked", "ready", "running", EndStatus]
"""How far a step is. `asked`: it could run, and waits for a person."""
OVER: frozenset[StepStatus] = frozenset(get_args(EndStatus))
UNFINISHED: frozenset[StepStatus] = frozenset(get_args(StepStatus)) - OVER
RunStatus = Literal["completed", "partial", "failed"]


@dataclass(frozen=True, slots=True)
class PlanExtended:
    """Steps were added: the first plan, or what a turn of the orchestrator's adds to it.

    Each needs only steps that are there. It answers `TakeTurn`, also where it adds nothing.

    Attributes:
        done: Ids of those that had succeeded before; they are never launched.
        under_way: Ids of those whose work is under way already; they are launched first.
        approval: Ids of those that a person is asked about when their inputs are there.
        asked: Whether a person is asked about the plan; until then nothing is launched.
        given_up: Ids of those that are to be ended; what has ended meanwhile stays as it is.
        without: Ids of those that need not succeed: what needs them goes on without them.
        look_after: Ids of those after whose end the orchestrator has its next turn. With none it
            has it when a required step has failed, or nothing is left to do. None: it has no more.
    """

    steps: tuple[CompiledStep, ...]
    done: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()
    approval: frozenset[str] = frozenset()
    asked: bool = False
    given_up: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    look_after: frozenset[str] | None = None


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
class Decided:
    """The condition of a step was looked at, as `Decide` asked."""

    step: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Expanded:
    """A step has members now: instances, a round, the steps of its plan. `Expand` asked for them.

    Attributes:
        steps: The members that are new. Each needs only steps already there.
        done: Ids of those that had succeeded before; they are never launched.
        approval: Ids of those that a person is asked about when their inputs are there.
        counted: Ids of the members by which it is decided how the step ended.
        needed: How many of them have to succeed.
        is_complete: Whether it gets no more members; else it is asked for again when all it has
            are over.
        outcome: How the step ends without more members, or `asked` if a person has to decide
            whether it gets them; "" where its members decide.
        questions: Ids of what is asked then; the schedule doesn't read them.
    """

    step: str
    steps: tuple[CompiledStep, ...] = ()
    done: frozenset[str] = frozenset()
    approval: frozenset[str] = frozenset()
    counted: tuple[str, ...] = ()
    needed: int = 0
    is_complete: bool = True
    outcome: Literal["", "succeeded", "failed", "asked"] = ""
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
class Messaged:
    """A person has written to the orchestrator: it has its next turn as soon as it can."""


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
class Decide:
    """Look whether the step's condition holds, and answer `Decided`."""

    step: str


@dataclass(frozen=True, slots=True)
class Expand:
    """Work out the step's members, or the next of them, and answer `Expanded`."""

    step: str


@dataclass(frozen=True, slots=True)
class Close:
    """The members of a step are over, and so is the step.

    With `by_condition` those that count were all skipped by a condition, and so is it.
    """

    step: str
    status: EndStatus
    by_condition: bool = False


TurnCause = Literal["seen", "failed", "message", "over"]
"""Why the orchestrator has a turn: what it wants to see is there, a required step has failed, a
person has written to it, or nothing is left to do."""


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Ask the orchestrator what comes next, and answer `PlanExtended`. Nothing waits for it."""

    cause: TurnCause


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing runs or can start before a person has answered."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Nothing runs any more: the edited plan may take this one's place."""


@dataclass(frozen=True, slots=True)
class Skip:
    """The step will never run, because `cause`, a required step above it, did not succeed.

    The cause is "" where the plan was rejected. With `by_condition` the steps that it needs were
    all skipped by a condition, and it is skipped in the same way.
    """

    step: str
    cause: str
    category: Category | None = Category.UPSTREAM
    by_condition: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the step's running attempt; its `AttemptFinished` is still awaited."""

    step: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Every step is over: `completed` if all required ones succeeded, `failed` if none did."""

    status: RunStatus


Event = (
    PlanExtended
    | Expanded
    | Decided
    | AttemptFinished
    | Approved
    | Rejected
    | Messaged
    | Edited
    | Cancelled
)


Command = (
    Launch | Decide | Expand | Close | Ask | TakeTurn | Wait | Skip | Cancel | Replace | Finish
)
