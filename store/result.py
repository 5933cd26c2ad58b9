"""The result of a run: `SwarmResult` and its parts. Times are seconds since the Unix epoch, UTC."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..data_types import Count, Finite, Frozen, Moment
from ..errors import Category, SwarmError
from ..gates import GateResult
from ..metrics.clock import RunTime, Stretch
from ..metrics.critical_path import Metrics
from ..plan.compile import StepRecall
from ..plan.schedule import EndStatus
from ..plan.task_ir import StoredPlan, Tier
from ..untrusted.opening import PlainName

__all__ = [
    "EXCERPT_CHARS",
    "Action",
    "Attempt",
    "Cost",
    "Decision",
    "Exploration",
    "Metrics",
    "Mitigation",
    "Planning",
    "Recall",
    "RunFailedError",
    "ShownAttempt",
    "StepResult",
    "SwarmResult",
    "TakenFrom",
    "ToolCall",
    "Usage",
    "excerpt",
]


class ToolCall(Frozen):
    """A call of a tool, as it is shown: texts are cut, and secrets masked.

    Attributes:
        ordinal: Its number among the calls of its attempt, from 1.
        toolset: The toolset that the tool is of; "" where the model named no tool that there is.
        arguments: As JSON.
        outcome: `started` while it runs; `returned`; `refused` if it failed, or was not made, and
            the model reads why; `stored` if an earlier process made it.
        result: What the model reads.
        characters: Those of the whole result.
        seconds: How long it took; 0 while it runs.
        started_at: When it was begun; 0 if it wasn't, or an earlier version made it.
    """

    ordinal: int
    tool: str
    toolset: str = ""
    arguments: str = ""
    outcome: Literal["started", "returned", "refused", "stored"] = "started"
    result: str = ""
    characters: int = 0
    seconds: Finite = 0.0
    started_at: Moment = 0.0


EXCERPT_CHARS = 500
"""Characters of an output that a result carries; the whole is stored once, by reference."""

Action = Literal[
    "RETRY",
    "CONTINUE",
    "THINK_HARDER",
    "SAMPLE",
    "ESCALATE",
    "DELEGATE",
    "REPLAN",
    "KEEP",
    "ASK",
    "SKIP",
    "FAIL",
]


class Usage(Frozen):
    """What model calls took. `cost_usd` is None where no price is known."""

    requests: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cost_usd: Finite | None = None
    estimated: Count = Field(default=0, description="Requests whose tokens are estimated.")

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Sum two usages; the money is known only where both calls' money is."""
        known = [u.cost_usd for u in (self, other) if u.requests]
        priced = [cost for cost in known if cost is not None]
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(priced) if priced and len(priced) == len(known) else None,
            estimated=self.estimated + other.estimated,
        )


class ShownAttempt(Frozen):
    """An earlier attempt, and its lesson for a model."""

    run: str
    step: str
    attempt: int
    text: str


class Decision(Frozen):
    """What a failure leads to, by which rule, and why."""

    action: Action
    rule: str
    reason: str
    tier: Tier | None = Field(default=None, description="The next attempt's tier, if there is one.")
    evidence: str = Field(default="", description="What was wrong, as the gate or model said it.")
    samples: int = Field(default=1, description="Candidates of the next attempt.")
    delay_s: float = Field(default=0.0, description="Seconds before the next attempt.")
    usage: Usage = Field(default=Usage(), description="What a REPLAN's question took.")
    duration_s: Finite = Field(default=0.0, description="Seconds of work that the question took.")
    outcome: str = Field(default="", description="What came of the question.")
    example: ShownAttempt | None = Field(
        default=None,
        description="An earlier repair of such a failure, for the next attempt.",
    )


class Omission(Frozen):
    """A part of an input that a step didn't read, since it didn't fit.

    Attributes:
        name: The input: a step's id, or the plan's name for it.
        tokens: Tokens that were left out, estimated.
        of: Tokens of the whole, estimated.
        summarised: Whether the step read a summary instead of the beginning.
    """

    name: str
    tokens: int
    of: int
    summarised: bool = False


class Attempt(Frozen):
    """One try at a step. `queue_s` is how long it waited for the model's turn.

    Where several candidates were sampled it is the one that passed, or got furthest; `usage` and
    `tokens_saved` are those of all. `stretches` has its waits and pauses, and what other samples
    took; calls of tools and gates have their own times.
    """

    number: int
    agent: str = ""
    revision: int = Field(default=0, description="How often the step had been replaced.")
    samples: int = Field(default=1, description="Candidates that were drawn.")
    tier: Tier
    model: str
    ready_at: Moment = Field(default=0.0, description="When it could begin; 0 if not known.")
    launched_at: Moment = Field(default=0.0, description="When it had a slot; 0 if not known.")
    started_at: Moment
    ended_at: Moment
    queue_s: Finite = 0.0
    stretches: tuple[Stretch, ...] = ()
    usage: Usage = Usage()
    category: Category | None = Field(default=None, description="None if it succeeded.")
    error: str | None = None
    extraction: str = Field(default="", description="The rule that found the artifact.")
    gates: tuple[GateResult, ...] = ()
    tokens_saved: int = Field(default=0, description="By ending what was certain to fail.")
    left_out: tuple[Omission, ...] = Field(default=(), description="Of what it was to read.")
    calls: tuple[ToolCall, ...] = Field(default=(), description="Of tools.")
    decision: Decision | None = None

    @property
    def duration_s(self) -> float:
        """Seconds of work: from start to end, less the wait for the model's turn."""
        return max(0.0, self.ended_at - self.started_at - self.queue_s)


class TakenFrom(Frozen):
    """Where a step was done that a fork of a run takes over.

    Attributes:
        run: The run that did it, and counts what it took.
        output_ref: Where that run has the whole output.
    """

    run: PlainName
    output_ref: str

    @property
    def words(self) -> str:
        """It in words."""
        return f"taken over from run {self.run}"


StoredStatus = Literal[EndStatus, "unfinished"]


class StepResult(Frozen):
    """How one step ended. `reason` says why it is not `succeeded`.

    `agent` and `prompt` are those of its last attempt. `change` says how they became other than
    planned (`replaced`, `given to` somebody), `planned` what they were; both are "" if they didn't.
    In a run that was left early, a step that wasn't over is `unfinished`.
    """

    id: PlainName
    agent: str
    prompt: str = ""
    change: str = ""
    planned: str = ""
    status: StoredStatus
    reason: str = ""
    category: Category | None = None
    attempts: tuple[Attempt, ...] = ()
    output_ref: str | None = Field(default=None, description="Where the whole output is stored.")
    task_runs: tuple[str, ...] = Field(
        default=(), description="Prefect's ids of the last task runs, which what follows waits for."
    )
    truncated: bool = Field(default=False, description="Whether its output is cut off.")
    excerpt: str = ""
    slack_s: Finite | None = Field(
        default=None, description="Seconds it could have taken longer; None if it never ran."
    )
    critical: bool = False
    taken_from: TakenFrom | None = Field(
        default=None, description="The run that did it, where it was taken over; no attempts then."
    )


class Cost(Frozen):
    """What the whole run took, planning and synthesis included."""

    calls: Count = 0
    estimated_calls: Count = Field(default=0, description="Those whose tokens are estimated.")
    tokens: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    money_usd: Finite | None = None

    @classmethod
    def of(cls, usage: Usage) -> Cost:
        """Write a usage as a cost."""
        return cls(
            calls=usage.requests,
            estimated_calls=usage.estimated,
            tokens=usage.tokens,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            money_usd=usage.cost_usd,
        )


class Exploration(Frozen):
    """What the orchestrator found with tools before it planned.

    Attributes:
        calls: Those that it made, in their order.
        notes: What it wrote down for its plan; "" if it came to nothing.
        usage: What its requests took, in all processes that worked on it.
        problem: Why it came to nothing.
    """

    model: str
    calls: tuple[ToolCall, ...] = ()
    notes: str = ""
    usage: Usage = Usage()
    problem: str = ""


class Planning(Frozen):
    """Where the plan came from. `usage` has what looking around before it took, too."""

    source: Literal["orchestrator", "user", "fork"]
    model: str | None = None
    score: float | None = None
    candidates: int = 0
    choice: str = ""
    broke_off: str = Field(
        default="",
        description="Why the plan ends early, if it does: its steps are those that were complete "
        "when its stream broke for good.",
    )
    adapter: str | None = Field(
        default=None, description="SHA-256 of the adapter that the model planned with, if any."
    )
    usage: Usage = Usage()
    forked_from: str = Field(
        default="", description="The run that the plan, or what it was edited from, is of."
    )
    shown_runs: tuple[str, ...] = Field(
        default=(), description="Flow run ids of the earlier plans that the planner was shown."
    )
    shown_personas: tuple[str, ...] = Field(
        default=(), description="Names of the personas that the planner was shown."
    )
    explored: Exploration | None = Field(
        default=None, description="What the orchestrator looked at first; None if it didn't."
    )


class Mitigation(Frozen):
    """What was done about a symptom, and what came of it.

    Attributes:
        symptom: What had failed: a failure's message without what differs each time, or
            `gate NAME:` for all that this gate finds.
        target: The tier of ESCALATE; the persona of DELEGATE, where they differ; else "".
        tried: Attempts that followed.
        worked: Those of them that succeeded. Failing otherwise isn't working.
        recurred: Those that had the very same symptom again.
        example: The latest that succeeded, where it worked more often than not.
    """

    symptom: str
    action: Action
    target: str = ""
    tried: int
    worked: int
    recurred: int = 0
    example: ShownAttempt | None = None


class Recall(Frozen):
    """What a run knew before it began; `note` says what was out of order."""

    episodes: int = Field(default=0, description="Attempts that were remembered by then.")
    steps: tuple[StepRecall, ...] = ()
    mitigations: tuple[Mitigation, ...] = Field(
        default=(), description="What was done about failures, and how often that worked."
    )
    note: str = ""


class SwarmResult(Frozen):
    """A finished run; `unfinished` is one that was left early, which has pages and no result."""

    run_id: PlainName
    flow_run_id: PlainName
    status: Literal["completed", "partial", "failed", "unfinished"]
    answer: str
    plan: StoredPlan
    content_hash: str
    planning: Planning
    steps: tuple[StepResult, ...]
    metrics: Metrics
    cost: Cost
    time: RunTime | None = Field(default=None, description="None if it was not measured.")
    recall: Recall | None = Field(default=None, description="None if the run had no memory.")
    taught: tuple[str, ...] = Field(default=(), description="What the memory learned from it.")
    problem: str = Field(default="", description="Why the run is not `completed`.")
    output: Any = Field(
        default=None,
        exclude=True,
        description="The answer as the type that Python code asked for; not stored.",
    )

    def _repr_html_(self) -> str:
        """Show the run in a notebook: the one arrow from what is kept of a run to its pages."""
        from ..report.run_html import report_html

        return report_html(self, fragment=True)


class RunFailedError(SwarmError):
    """No step of the run succeeded, or there is no answer; `result` has the details."""

    def __init__(self, problem: str, fix: str = "", result: SwarmResult | None = None) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, result)
        self.result = result


def excerpt(text: str, limit: int = EXCERPT_CHARS) -> str:
    """Bound a text, saying how much was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … [{len(text) - limit} more characters]"
