"""The result of a run: `SwarmResult` and its parts. Times are seconds since the Unix epoch, UTC."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field

from ..data_types import Count, Finite, Frozen
from ..errors import SwarmError
from ..metrics.clock import RunTime
from ..metrics.critical_path import Metrics
from ..metrics.parl import ParlFigures
from ..plan.compile import StepRecall
from ..plan.task_ir import StoredPlan
from ..text import dollars, duration, one_line, plural
from ..untrusted.opening import PlainName
from .attempt import (
    Action,
    ShownAttempt,
    ToolCall,
    Usage,
    excerpt,
)
from .losses import lost_of, missing_words
from .step import StepState

if TYPE_CHECKING:
    from .item_table import ItemTable
    from .outputs import StepFailure, StepResult

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
    "Undone",
]


T = TypeVar("T")
_ANSWER_CHARS = 200


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
    procedure: str = Field(
        default="", description="The procedure that a given plan was made of, with its version."
    )
    forked_from: str = Field(
        default="", description="The run that the plan, or what it was edited from, is of."
    )
    forked_turn: int = Field(
        default=0,
        description="The turn of that run after which the orchestrator goes on; 0: it doesn't.",
    )
    forked_part: str = Field(
        default="",
        description="The step of that run that this one does, where that run follows it.",
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
        part = f"its step {self.forked_part} alone" if self.forked_part else ""
        return ", ".join(filter(None, [f"run {self.forked_from}", turn, part, self.choice]))


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


class Undone(Frozen):
    """A step that acted in a run that failed: the call that undid it.

    Attributes:
        call: The call, with its arguments.
        problem: Why what the step did is there still, or may be; "" if it was undone.
    """

    step: str
    call: str
    problem: str = ""


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
    undone: tuple[Undone, ...] = Field(
        default=(), description="The steps that acted, where the run failed and they have an undo."
    )
    output: Any = Field(
        default=None,
        exclude=True,
        description="The answer as the type that Python code asked for; not stored.",
    )

    def __getitem__(self, step: str) -> StepResult:
        """Return a step, an instance, a round or an inner step: `result["S2[7]"].output`.

        Raises:
            NoStepError: There is none of that id, which is a `KeyError`, too.
        """
        from .outputs import no_step, results_of

        if (found := results_of(self).get(step.strip())) is None:
            raise no_step(self, step)
        return found

    def __contains__(self, step: object) -> bool:
        """Say whether there is a step or a member of that id."""
        return any(each.id == step for each in self.steps)

    def outputs(self, kind: type[T]) -> tuple[T, ...]:
        """Return the outputs of steps and instances that are of a type: `result.outputs(Invoice)`.

        Those of no step are left out that pydantic takes for the type: the last of several rounds
        counts, and what a step has from one of its members counts once.

        Args:
            kind: A pydantic model, or any type that pydantic knows.

        Raises:
            RunNotFoundError: The run's folder is not here.
        """
        from .outputs import outputs_of

        return outputs_of(self, kind)

    def output_as(self, kind: type[T]) -> T:
        """Return the answer, which is JSON, as a type: `result.output_as(Verdict)`.

        A flow that takes the result of another flow run, or of a stored one, has no `output`, and
        needs this: the run was given the type's JSON Schema as its option `answer_schema`.

        Args:
            kind: A pydantic model, or any type that pydantic knows.

        Raises:
            InputError: There is no answer, or it is not JSON of that type.
        """
        from .outputs import answer_as

        return answer_as(self, kind)

    @property
    def failures(self) -> tuple[StepFailure, ...]:
        """The steps and items that failed for good, also those that a `completed` run did without.

        A step that was skipped since it needed one of these is not named again.
        """
        from .outputs import failures_of

        return failures_of(self.steps)

    def table(self, step: str = "") -> ItemTable:
        """Return the outputs of a step that was done for items, a row each, with what failed.

        Args:
            step: The step's id; it may be left out where one step alone is done for items. Where
                none is, the rows are the steps of the plan.

        Raises:
            InputError: Several steps are done for items, and none is named.
            NoStepError: There is no such step.
            RunNotFoundError: The run's folder is not here.
        """
        from .outputs import table_of

        return table_of(self, step)

    @property
    def status_words(self) -> str:
        """The status, and how much is missing beside what is done: `completed, 3 items missing`."""
        missing = "" if self.status == "failed" else missing_words(lost_of(self.steps))
        return f"{self.status}, {missing}" if missing else self.status

    def __str__(self) -> str:
        """Write three lines: how it ended, what it took, and the beginning of the answer."""
        own = [step for step in self.steps if not step.parent]
        done = sum(step.status == "succeeded" for step in own)
        cost, metrics = self.cost, self.metrics
        money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
        took = duration(metrics.total_s or metrics.makespan_s)
        answer = one_line(self.answer, _ANSWER_CHARS)
        return "\n".join(
            (
                f"Run {self.run_id} {self.status_words}: {done} of {plural(len(own), 'step')} done",
                f"{took}, {plural(cost.calls, 'call')}, {plural(cost.tokens, 'token')}{money}",
                f"Answer: {answer}" if answer else f"No answer. {one_line(self.problem, 200)}",
            )
        )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Name what tells runs apart: steps with their attempts would be megabytes."""
        yield from (("run_id", self.run_id), ("status", self.status))
        yield from (("steps", len(self.steps)), ("answer", excerpt(self.answer, _ANSWER_CHARS)))

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
