"""An attempt at a step, as it is stored: what it took, what the gates found, what followed.

Times are seconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Literal

from pydantic import Field

from ..data_types import Count, Finite, Frozen, Moment
from ..errors import Category
from ..gates import GateResult
from ..metrics.clock import Stretch
from ..plan.task_ir import Tier

__all__ = [
    "EXCERPT_CHARS",
    "Action",
    "Attempt",
    "Compaction",
    "Decision",
    "Omission",
    "ShownAttempt",
    "Start",
    "ToolCall",
    "Usage",
    "excerpt",
    "is_excerpt_whole",
    "most_under_way",
]


_WORK = ("model", "gate")
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
        pictures: Names of the pictures that it returned, which the run keeps.
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
    pictures: tuple[str, ...] = ()


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


class Start(Frozen):
    """That an attempt was begun on another machine than its run is executed on.

    Attributes:
        place: The worker that works on it.
        sent: What it was sent as by the process that executes the run.
        number: How often that was begun by then.
        mark: Tells this start from others of the attempt; "" where nothing goes by it.
    """

    place: str
    at: Moment
    sent: str = ""
    number: Count = 1
    mark: str = ""


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


class Compaction(Frozen):
    """A conversation made shorter before a request, since it came near its model's context.

    Attributes:
        request: The request, by its number among those of the attempt's conversation, from 1.
        results: Results of tools that are left out since then, for a line or for the summary.
        cut: Results of tools of which the beginning and the end are left since then.
        exchanges: Answers, with the results of their calls, that a summary stands for since then.
        tokens_before: Of the conversation, estimated.
        tokens_after: Of what was sent instead, estimated.
    """

    request: Count
    results: Count = 0
    cut: Count = 0
    exchanges: Count = 0
    tokens_before: Count
    tokens_after: Count

    @property
    def tokens_saved(self) -> int:
        """Tokens that the request, and each one after it, doesn't read."""
        return max(0, self.tokens_before - self.tokens_after)


class Attempt(Frozen):
    """One try at a step. `queue_s` is how long it waited for the model's turn.

    Where several candidates were sampled it is the one that was chosen, passed, or got furthest;
    `usage` and `tokens_saved` are those of all, and reviewers' usage is part of it. `stretches` has
    its waits and pauses, and what other samples and reviewers took; calls of tools and gates have
    their own times. What reviewers and a judge decided stands among the gates, as `review` and
    `judge`.
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
    compactions: tuple[Compaction, ...] = Field(default=(), description="Of its conversation.")
    decision: Decision | None = None

    @property
    def duration_s(self) -> float:
        """Seconds of its model and tools: from start to end, less the wait for the model's turn."""
        return max(0.0, self.ended_at - self.started_at - self.queue_s)

    @property
    def checked_at(self) -> float:
        """When gates and reviewers were done with it: its end, where none looked at it."""
        return max([self.ended_at, *(until for _, until in self._checks)])

    @property
    def checks_s(self) -> float:
        """Seconds after its end that gates and reviewers took; side by side they count once."""
        seconds, reached = 0.0, self.ended_at
        for since, until in sorted(self._checks):
            seconds += max(0.0, until - max(since, reached))
            reached = max(reached, until)
        return seconds

    @property
    def work_s(self) -> float:
        """Seconds of work, its gates and reviewers included."""
        return self.duration_s + self.checks_s

    @property
    def _checks(self) -> list[tuple[float, float]]:
        """When gates worked, and models that wrote other samples or reviewed this one."""
        return [
            *((g.started_at, g.started_at + g.worked_s) for g in self.gates if g.worked_s),
            *((each.started_at, each.ended_at) for each in self.stretches if each.kind in _WORK),
        ]


def most_under_way(attempts: Iterable[Attempt]) -> int:
    """Return how many attempts were under way at once, at most."""
    changes = sorted(
        change for each in attempts for change in ((each.started_at, 1), (each.ended_at, -1))
    )
    return max(accumulate(change for _, change in changes), default=0)


_CUT = re.compile(r" … \[[0-9]+ more characters\]\Z")


def is_excerpt_whole(text: str) -> bool:
    """Say whether an excerpt is the whole text; where a text says of itself that it is cut, no."""
    return _CUT.search(text) is None


def excerpt(text: str, limit: int = EXCERPT_CHARS) -> str:
    """Bound a text, saying how much was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()} … [{len(text) - limit} more characters]"
