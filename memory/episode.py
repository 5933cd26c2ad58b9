"""Episodes: one for each attempt at a step, written once, when it ends."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ..data_types import Count, Finite, Frozen, Moment
from ..errors import Category
from ..plan.output import OutputKind
from ..plan.task_ir import Tier
from ..store.attempt import Action

__all__ = [
    "SCHEMA_VERSION",
    "Episode",
    "EpisodeKey",
    "GateOutcome",
    "LogEntry",
    "Selection",
    "digest_of",
]


SCHEMA_VERSION = 1
"""Version of an episode's fields."""
_Reward = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class EpisodeKey(NamedTuple):
    """Identifies an attempt within a namespace."""

    run: str
    step: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.run}/{self.step}.{self.attempt}"


class GateOutcome(Frozen):
    """The result of one gate on the attempt's artifact."""

    gate: str
    status: Literal["passed", "failed", "skipped", "error"]
    category: Category | None = None


class Episode(Frozen):
    """One attempt at one step: who tried what, how, and with which result.

    Times are seconds since the Unix epoch, UTC. The writer of the episode bounds its texts.

    Attributes:
        namespace: Whose memory it is; nothing is ever read across namespaces.
        run, step, attempt: The key. `run` is the flow run's id, attempts count from 1.
        task_type: The plan's task type and the step's output kind, such as `code/python`.
        prompt: The step's prompt, which is what similar steps are found by.
        cause: What led to this attempt; None for a step's first.
        decision: What its failure led to; None if it succeeded.
        category, error: The kind of failure and its message; None and "" if it succeeded.
        gates: The results of its gates, in their order.
        reward, terms: Its reward, and the terms whose sum that is.
        upstream, downstream: Steps whose outputs it read, and that read its output.
        used: Memories that were shown to it or that chose for it.
        excerpt: The beginning of its artifact; `artifact` is the SHA-256 of the whole.
    """

    schema_version: int = SCHEMA_VERSION
    namespace: str = Field(default="default", min_length=1, max_length=80)
    run: str = Field(min_length=1)
    step: str = Field(min_length=1)
    attempt: int = Field(ge=1)
    objective: str = ""
    task_type: str = "chat/text"
    output: OutputKind = "text"
    prompt: str
    persona: str
    tier: Tier
    model: str
    revision: int = 0
    cause: Action | None = None
    decision: Action | None = None
    rule: str = ""
    succeeded: bool
    category: Category | None = None
    error: str = ""
    gates: tuple[GateOutcome, ...] = ()
    input_tokens: Count = 0
    output_tokens: Count = 0
    started_at: Moment
    ended_at: Moment
    duration_s: Finite = Field(ge=0, description="Seconds of work, less the wait for the model.")
    reward: _Reward
    terms: Mapping[str, _Reward] = Field(default_factory=dict[str, float])
    upstream: tuple[str, ...] = ()
    downstream: tuple[str, ...] = ()
    used: tuple[EpisodeKey, ...] = ()
    artifact: str = ""
    excerpt: str = ""

    @property
    def key(self) -> EpisodeKey:
        """Its key within its namespace."""
        return EpisodeKey(self.run, self.step, self.attempt)

    @property
    def digest(self) -> str:
        """The key of its prompt's embedding."""
        return digest_of(self.prompt)


class LogEntry(NamedTuple):
    """An episode in a log. Positions grow in the order of writing and are never used twice."""

    position: int
    episode: Episode


class Selection(Frozen):
    """Conditions on episodes; all have to hold. To forget, at least one is needed.

    Attributes:
        run, step, persona: Equal to this.
        before: Ended before this time.
        containing: Prompt, objective, error or excerpt contain this, in any case.
    """

    run: str | None = None
    step: str | None = None
    persona: str | None = None
    before: float | None = None
    containing: str | None = Field(default=None, min_length=1)
    everything: bool = False


def digest_of(text: str) -> str:
    """SHA-256 of a text, under which its embedding is kept."""
    return hashlib.sha256(text.encode()).hexdigest()
