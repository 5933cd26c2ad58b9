"""The result of a run: `SwarmResult` and its parts. Times are seconds since the Unix epoch, UTC."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ..data_types import Count, Finite, Frozen
from ..errors import SwarmError
from ..metrics.clock import RunTime
from ..metrics.critical_path import Metrics
from ..metrics.parl import ParlFigures
from ..plan.compile import StepRecall
from ..plan.task_ir import StoredPlan
from ..untrusted.opening import PlainName
from .attempt import (
    Action,
    ShownAttempt,
    ToolCall,
    Usage,
)
from .step import StepState

__all__ = [
    "Cost",
    "Exploration",
    "Metrics",
    "Mitigation",
    "ParlFigures",
    "Planning",
    "Recall",
    "RunFailedError",
    "SwarmResult",
]


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
    forked_turn: int = Field(
        default=0,
        description="The turn of that run after which the orchestrator goes on; 0: it doesn't.",
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

    @property
    def forked_words(self) -> str:
        """Which run a fork's plan is of, after which turn, and how it was changed."""
        turn = f"after turn {self.forked_turn}" if self.forked_turn else ""
        return ", ".join(filter(None, [f"run {self.forked_from}", turn, self.choice]))


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
    steps: tuple[StepState, ...]
    metrics: Metrics
    cost: Cost
    parl: ParlFigures | None = Field(
        default=None,
        description="The run by PARL's measures; None if it isn't over, or if an earlier version "
        "made the result.",
    )
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
