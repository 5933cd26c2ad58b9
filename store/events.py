"""Typed events of a run. Times are seconds since the Unix epoch, UTC.

No event holds a prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from ..data_types import Finite, Moment
from ..host.secrets import masked_urls
from ..metrics.clock import Stretch
from ..plan.schedule_events import EndStatus
from ..plan.task_ir import Tier
from .attempt import Action, Attempt, Usage

__all__ = [
    "AnsweredEvent",
    "AnsweringEvent",
    "AskedEvent",
    "BeganEvent",
    "CutEvent",
    "DecisionEvent",
    "DirectingEvent",
    "EndKind",
    "EndedEvent",
    "EventSink",
    "ExpandedEvent",
    "ExploringEvent",
    "FinishedEvent",
    "GateEvent",
    "MessageEvent",
    "OtherEvent",
    "PartEvent",
    "PlannedEvent",
    "PlannedStep",
    "PlanningEvent",
    "ReadyEvent",
    "RunEvent",
    "SpentEvent",
    "StartedEvent",
    "TextEvent",
    "ToolEvent",
    "TurnEvent",
    "UndoneEvent",
    "WaitEvent",
    "null_sink",
]


ModelName = Annotated[str, AfterValidator(masked_urls)]
"""A model; older versions took a password in its address, and wrote it into the log."""


class RunEvent(BaseModel, frozen=True, extra="ignore"):
    """Something that happened in a run.

    Attributes:
        number: Counted from 1 over all processes that work on the run; 0 until it is emitted.
        at: When it happened.
        run: The run's id.
        kind: Which event it is.
        step: The step it is about; "" if it is about the run, its plan or its answer.
        attempt: The attempt at the step, or at the answer, counted from 1; 0 if it is about none.
    """

    number: int = Field(default=0, ge=0)
    at: Moment = 0.0
    run: str = ""
    kind: str
    step: str = ""
    attempt: int = 0


EventSink = Callable[[RunEvent], None]
"""What hears of events."""


def null_sink(_: RunEvent) -> None:
    """Hear of an event and do nothing: a `Tell` where nobody listens."""


class BeganEvent(RunEvent, frozen=True):
    """A process began to work on the run; `resumed` if another one had before.

    Attributes:
        left_at: When the last event of the process before happened; 0 if there was none.
    """

    kind: Literal["began"] = "began"
    resumed: bool = False
    left_at: Moment = 0.0


class PlanningEvent(RunEvent, frozen=True):
    """A model is asked for the plan."""

    kind: Literal["planning"] = "planning"
    model: ModelName = ""
    tier: str = ""


class ExploringEvent(RunEvent, frozen=True):
    """The orchestrator looks around with tools before it plans.

    Attributes:
        calls: How many it may make.
    """

    kind: Literal["exploring"] = "exploring"
    model: ModelName = ""
    calls: int = 0


class PlannedStep(BaseModel, frozen=True, extra="ignore"):
    """A step of the plan, and the steps it needs."""

    id: str
    agent: str
    tier: str = ""
    upstream: tuple[str, ...] = ()
    optional: bool = False
    label: str = ""


class ExpandedEvent(RunEvent, frozen=True):
    """A step has members now: instances, a round, or the steps of the plan inside it.

    Attributes:
        note: Which items were left out.
    """

    kind: Literal["expanded"] = "expanded"
    steps: tuple[PlannedStep, ...] = ()
    note: str = ""


class PartEvent(RunEvent, frozen=True):
    """A step is done by a run of its own, on a work pool, whose flow run has this state now.

    Attributes:
        flow_run: The name of the flow run; `part` is the id of its run.
        state: The state's name, such as `Scheduled`, `Running` or `Suspended`.
        url: Where the Prefect UI shows it; "" where no UI is known.
    """

    kind: Literal["part"] = "part"
    pool: str = ""
    part: str = ""
    flow_run_id: str = ""
    flow_run: str = ""
    state: str = ""
    url: str = ""


class PlannedEvent(RunEvent, frozen=True):
    """The plan is there.

    Attributes:
        steps: Its steps.
        irreversible: Which of them act and have nothing that undoes it, in words; "" for none.
    """

    kind: Literal["planned"] = "planned"
    steps: tuple[PlannedStep, ...] = ()
    irreversible: str = ""


class DirectingEvent(RunEvent, frozen=True):
    """The orchestrator is asked what follows.

    Attributes:
        number_of_turn: The turn's number; the first plan is turn 1.
        cause: Why it has one: `seen`, `failed` or `over`.
    """

    kind: Literal["directing"] = "directing"
    number_of_turn: int = 0
    cause: str = ""


class TurnEvent(RunEvent, frozen=True):
    """The orchestrator has had a turn, and the plan goes on as it decides.

    Attributes:
        number_of_turn: Its number; the first plan is turn 1.
        cause: Why it had one: `seen`, `failed`, `message` or `over`.
        steps: The steps that it adds.
        given_up: Ids of the steps that it ends.
        look_after: Ids of the steps after which it has its next turn.
        finished: Whether the run ends with it.
        messages: Numbers of the messages that it was shown.
    """

    kind: Literal["turn"] = "turn"
    number_of_turn: int = 0
    cause: str = ""
    steps: tuple[PlannedStep, ...] = ()
    given_up: tuple[str, ...] = ()
    look_after: tuple[str, ...] = ()
    finished: bool = False
    messages: tuple[int, ...] = ()


class MessageEvent(RunEvent, frozen=True):
    """A person has written to the orchestrator; its next turn shows it.

    Attributes:
        message: The message's number, counted from 1.
        text: How it begins.
        by: Which way it came: `command` or `python`.
        name: Who wrote it, as they say.
    """

    kind: Literal["message"] = "message"
    message: int = 0
    text: str = ""
    by: str = ""
    name: str = ""


class ReadyEvent(RunEvent, frozen=True):
    """All that a step needs is there."""

    kind: Literal["ready"] = "ready"


class StartedEvent(RunEvent, frozen=True):
    """An attempt started."""

    kind: Literal["started"] = "started"
    tier: str = ""


class UndoneEvent(RunEvent, frozen=True):
    """What a step did was undone, since the run failed; `problem` if it could not be."""

    kind: Literal["undone"] = "undone"
    call: str = ""
    problem: str = ""


class WaitEvent(RunEvent, frozen=True):
    """A wait for a provider began (`waiting`), or is over (`resumed`).

    Attributes:
        seconds: How long it will take at most; None if nobody knows.
    """

    kind: Literal["waiting", "resumed"] = "waiting"
    provider: str = ""
    why: str = ""
    seconds: Finite | None = None

    @property
    def words(self) -> str:
        """The wait in words; "" once it is over."""
        if self.kind == "resumed":
            return ""
        seconds = f", {self.seconds:.0f} s" if self.seconds is not None else ""
        return f"waiting for {self.provider} ({self.why}){seconds}"


class AskedEvent(RunEvent, frozen=True):
    """A person is asked: about a step, or about the plan where it is about no step.

    Attributes:
        question: The question's id within the run.
        title: What it is about, in a line.
    """

    kind: Literal["asked"] = "asked"
    question: str = ""
    title: str = ""

    @property
    def is_about_turn(self) -> bool:
        """Whether it is about what a turn of the orchestrator's does to the plan."""
        return self.question.startswith("turn.")


class AnsweredEvent(RunEvent, frozen=True):
    """A person has answered.

    Attributes:
        question: The question's id within the run.
        verdict: `approved`, `rejected` or `edited`.
        why: What they say.
        by: Which way the answer came: `terminal`, `command`, `form`, `api`, `python`.
        name: Who gave it, as they say in the form.
        answered_at: When they did; the event is emitted once the run has read it.
    """

    kind: Literal["answered"] = "answered"
    question: str = ""
    verdict: str = ""
    why: str = ""
    by: str = ""
    name: str = ""
    answered_at: Moment = 0.0


class TextEvent(RunEvent, frozen=True):
    """What a model wrote since the last text of the same request.

    Attributes:
        request: The attempt's request that it belongs to, counted from 1: a request that is sent
            again begins its text again.
        sample: The candidate, where an attempt draws several; else 0.
        tokens: Tokens that the request has written so far, estimated.
    """

    kind: Literal["text"] = "text"
    text: str = ""
    request: int = 1
    sample: int = 0
    tokens: int = 0


class GateEvent(RunEvent, frozen=True):
    """A gate looked at an artifact.

    Attributes:
        status: `passed`, `failed`, `skipped` or `error`.
        found: What was wrong.
    """

    kind: Literal["gate"] = "gate"
    gate: str = ""
    status: str = ""
    required: bool = True
    found: str = ""
    duration_s: Finite = 0.0
    sample: int = 0


class ToolEvent(RunEvent, frozen=True):
    """A call of a tool began, or is over. Texts are cut, and secrets masked.

    Attributes:
        ordinal: Its number among the attempt's calls, from 1.
        arguments: As JSON.
        outcome: `started`, `returned`, `refused` with what the model reads instead of a result, or
            `stored` where an earlier process made it.
        characters: Those of the whole result.
    """

    kind: Literal["tool"] = "tool"
    ordinal: int = 0
    tool: str = ""
    toolset: str = ""
    arguments: str = ""
    outcome: str = "started"
    result: str = ""
    characters: int = 0
    seconds: Finite = 0.0
    started_at: Moment = 0.0
    sample: int = 0


class DecisionEvent(RunEvent, frozen=True):
    """What a failed attempt leads to; `tier` is the next attempt's, None if none follows."""

    kind: Literal["decision"] = "decision"
    action: Action
    rule: str = ""
    reason: str = ""
    tier: Tier | None = None


EndKind = Literal["retrying", EndStatus]
"""What becomes of a step as an attempt ends."""


class EndedEvent(RunEvent, frozen=True):
    """An attempt ended, and the step with it unless it is `retrying`; or a step never ran.

    Attributes:
        reason: Why it isn't `succeeded`; or the run that it was taken over from.
        category: The kind of failure.
        attempt: The last attempt that came to an end; one that was refused before it began is
            emitted by the attempt before.
        started_at, ended_at: Of that attempt.
        queue_s: Seconds of it that it waited for the model's turn.
        checks_s: Seconds after its end that gates and reviewers took.
        cost_usd: None where no price is known.
    """

    kind: EndKind
    agent: str = ""
    tier: str = ""
    model: ModelName = ""
    started_at: Moment = 0.0
    ended_at: Moment = 0.0
    queue_s: Finite = 0.0
    checks_s: Finite = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Finite | None = None
    category: str = ""
    reason: str = ""

    def as_attempt(self) -> Attempt:
        """Return what it says of the attempt; not validated: other versions write otherwise."""
        usage = Usage.model_construct(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
        )
        until = self.ended_at + self.checks_s
        checks = Stretch(kind="gate", started_at=self.ended_at, ended_at=until)
        return Attempt.model_construct(
            number=self.attempt,
            agent=self.agent,
            tier=self.tier,
            model=self.model,
            started_at=self.started_at,
            ended_at=self.ended_at,
            queue_s=self.queue_s,
            stretches=(checks,) if self.checks_s > 0 else (),
            usage=usage,
        )

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    @property
    def work_s(self) -> float:
        """Seconds of work, as `Attempt.work_s`."""
        return self.as_attempt().work_s


class _Totals(RunEvent, frozen=True):
    """What the whole run took so far, over all its processes; the money None if not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Finite | None = None

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens


class SpentEvent(_Totals, frozen=True):
    """A call was paid for: what it took, and what the whole run took so far."""

    kind: Literal["spent"] = "spent"
    model: ModelName = ""
    call_input_tokens: int = 0
    call_output_tokens: int = 0


class AnsweringEvent(RunEvent, frozen=True):
    """The orchestrator is asked for the answer."""

    kind: Literal["answering"] = "answering"


class FinishedEvent(_Totals, frozen=True):
    """The last event of a process: the run ended, or was left to be resumed.

    Attributes:
        status: `cancelled`, `unfinished` and `waiting` runs have no result; others have it in their
            folder. One that is `waiting` was left until a person answers.
        answer: The whole answer.
        problem: What went wrong.
        missing: What the run has no output of, counted and named, as `2 items missing: S1[3],
            S1[7]`; "" if it is whole.
    """

    kind: Literal["finished"] = "finished"
    status: Literal["completed", "partial", "failed", "cancelled", "unfinished", "waiting"] = (
        "completed"
    )
    answer: str = ""
    problem: str = ""
    missing: str = ""


class CutEvent(RunEvent, frozen=True):
    """From here on texts (`text`), or all events but the last one (`all`), are left out.

    That of a file says that it is at its bound; that of a reader in the run's process that it had
    fallen behind.
    """

    kind: Literal["cut"] = "cut"
    what: Literal["text", "all"] = "text"

    @classmethod
    def in_place_of(cls, event: RunEvent, what: Literal["text", "all"]) -> CutEvent:
        """Return what stands where an event is left out, with its number and time."""
        return cls(number=event.number, at=event.at, run=event.run, what=what)


class OtherEvent(RunEvent, frozen=True):
    """An event that this version doesn't know; `data` has all its fields."""

    data: dict[str, Any] = Field(default_factory=dict[str, Any])
