"""What a subagent is handed, and what it hands back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pydantic import Field

from ...errors import Category, UnavailableError
from ...frozen import Frozen
from ...measures.stretch import Stretch
from ...output import OutputKind, StepOutput
from ...result import LeftOut, ToolCall, Usage
from ...task_ir import TierName
from .text_budget import cut_tokens, shares, tokens_of

__all__ = [
    "EXPLORE",
    "CallLimits",
    "SubagentRequest",
    "SubagentResult",
    "UnansweredError",
    "left_out_of",
    "prompt_of",
]


class CallLimits(Frozen):
    """What bounds a model's call; None is left to the model or its provider.

    Attributes:
        max_input_tokens: Tokens of upstream texts that it reads, their labels included.
        temperature: Of sampling.
        seed: Of sampling, where the model is local; others are only sent one that a person set.
        timeout_s: Seconds of work that it may take; waits for the provider don't count.
        max_calls: Calls of tools; where None, or more than that, what the run's limits say.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    thinking: str | bool | None = None
    seed: int = 0
    seed_is_set: bool = False
    timeout_s: float = 600.0
    max_calls: int | None = None


EXPLORE = "explore"
"""Stands in a step's place where the orchestrator looks around before it plans."""

_NOT_THE_INPUT = {"key", "run", "race", "model", "priority", *CallLimits.model_fields}
"""What a finished attempt is found without: whoever resumes a run may name another model and other
bounds, and what was answered stays answered."""


class SubagentRequest(CallLimits):
    """All that one attempt depends on, its limits among it.

    `key` names it across processes, by flow run, plan, step and attempt; `run` is the flow run.
    """

    key: str
    run: str
    step: str
    agent: str
    attempt: int
    tier: TierName
    model: str
    instructions: str
    prompt: str
    upstream: tuple[StepOutput, ...] = ()
    feedback: str = ""
    previous: str = Field(default="", description="The best attempt so far, to go on from.")
    begun: str = Field(default="", description="An answer that was cut off, to be written on.")
    sample: int = Field(default=0, description="Its number among the samples of its race.")
    race: str = Field(default="", description="The race among samples that it runs in, if any.")
    priority: float = Field(
        default=0.0, description="The length of the path that remains from its step."
    )
    summarised: tuple[LeftOut, ...] = Field(
        default=(), description="The upstream texts that are summaries."
    )
    lesson: str = Field(default="", description="What earlier steps like it have shown, quoted.")
    output: OutputKind = "text"
    output_schema: str = ""
    grammar: str = Field(default="", description="GBNF that a local model's answer obeys, if any.")
    output_requirements: tuple[str, ...] = Field(
        default=(), description="What else its gates will look at."
    )
    tools: tuple[str, ...] = Field(default=(), description="Toolsets that it works with.")

    @property
    def looks_around(self) -> bool:
        """Whether the orchestrator looks around before it plans: with tools that change nothing."""
        return self.step == EXPLORE

    @property
    def name(self) -> str:
        """Names it within its run: step and attempt, and the sample where there are several."""
        return f"{self.step}.{self.attempt}" + (f".{self.sample}" if self.sample else "")

    def cache_key(self) -> str:
        """Return the key that a finished attempt is found under: its name and its input's hash."""
        return f"{self.key}.{self.content_hash()}"

    def content_hash(self) -> str:
        """Return the hash of what is asked, whichever plan it belongs to."""
        # Without tools it has the hash that it had before there were any.
        without = _NOT_THE_INPUT if self.tools else {*_NOT_THE_INPUT, "tools"}
        text = self.model_dump_json(exclude=without)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SubagentResult(Frozen):
    """How an attempt at a request ended. `category` is None if it succeeded.

    Attributes:
        text: The artifact, taken out of what the model wrote; the transcript has all that it wrote.
        extraction: The rule by which it was taken out.
    """

    text: str = ""
    extraction: str = ""
    model: str
    started_at: float
    ended_at: float
    queue_s: float = 0.0
    waits: tuple[Stretch, ...] = Field(default=(), description="For providers and slots.")
    usage: Usage = Usage()
    category: Category | None = None
    error: str = ""
    tokens_saved: int = Field(default=0, description="What it may have gone on to write.")
    left_out: tuple[LeftOut, ...] = Field(default=(), description="Of what it was to read.")
    timeout_s: float | None = Field(default=None, description="The limit it ran under.")
    calls: tuple[ToolCall, ...] = Field(default=(), description="Of tools.")

    @property
    def work_s(self) -> float:
        """Seconds of work: from start to end, less the wait for the model's turn."""
        return max(0.0, self.ended_at - self.started_at - self.queue_s)


class UnansweredError(UnavailableError):
    """A request that the provider didn't answer; `result` has how long that took.

    Raised where a result would be kept: a resumed run asks again.
    """

    def __init__(self, result: SubagentResult) -> None:
        super().__init__(result.error)
        self.args = (result,)
        self.result = result

    def __str__(self) -> str:
        """Return the error that the result has."""
        return self.result.error


_FORMS: dict[OutputKind, str] = {
    "text": "",
    "json": "Answer with JSON alone.",
    "python": "Answer with one Python file in a ```python block.",
    "shell": "Answer with one shell script in a ```sh block.",
    "files": "Answer with each file in a block of its own, its path on the line before.",
}


def prompt_of(request: SubagentRequest) -> str:
    """Write the user's message: what there is to read, each text under its name, then the work.

    The texts and their labels take at most `max_input_tokens` together.
    """
    return _prompt(request, _readings(request.upstream, request.max_input_tokens)[0])


def left_out_of(request: SubagentRequest) -> tuple[LeftOut, ...]:
    """Return what the prompt has no room for."""
    return _readings(request.upstream, request.max_input_tokens)[1]


def _prompt(request: SubagentRequest, readings: Sequence[str]) -> str:
    parts = [*readings, request.prompt]
    if form := _FORMS[request.output]:
        parts.append(form)
    parts += request.output_requirements
    if request.output_schema:
        parts.append(f"It has to fit this JSON Schema: {request.output_schema}")
    if request.lesson:
        parts.append(request.lesson)
    if request.previous:
        room = request.max_input_tokens
        previous = cut_tokens(request.previous, room // 2) if room else request.previous
        parts.append(f"This was tried before:\n{previous}")
    if request.feedback:
        parts.append(f"The last answer was not accepted: {request.feedback}")
    return "\n\n".join(parts)


def _readings(
    given: Sequence[StepOutput], limit: int | None
) -> tuple[list[str], tuple[LeftOut, ...]]:
    labels = [_label(text) for text in given]
    if limit is None:
        return [label + text.text for label, text in zip(labels, given, strict=True)], ()
    if sum(map(tokens_of, labels)) > limit // 2:
        labels = [f"{text.name}: " for text in given]
    room = limit - sum(tokens_of(label) + 1 for label in labels)
    tokens = [tokens_of(text.text) for text in given]
    texts = [
        cut_tokens(text.text, share)
        for text, share in zip(given, shares(tokens, room), strict=True)
    ]
    left_out = tuple(
        LeftOut(name=text.name, tokens=of - tokens_of(kept), of=of)
        for text, kept, of in zip(given, texts, tokens, strict=True)
        if kept != text.text
    )
    return [label + kept for label, kept in zip(labels, texts, strict=True)], left_out


def _label(text: StepOutput) -> str:
    if not text.agent:
        return f"Input {text.name}:\n"
    return f"Result of {text.name} ({text.agent}):\n"
