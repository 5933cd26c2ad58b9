"""What a subagent is handed, and what it hands back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pydantic import Field

from ...errors import Category
from ...frozen import Frozen
from ...output import OutputKind, StepOutput
from ...result import Usage, excerpt
from ...task_ir import TierName
from .text_budget import cut, shares

__all__ = ["CallLimits", "SubagentRequest", "SubagentResult", "prompt_of"]


class CallLimits(Frozen):
    """What bounds a model's call.

    Attributes:
        max_input_chars: Characters of upstream texts that it reads, their labels included.
        temperature: Of sampling; None is the model's own.
        seed: Of sampling, where the model is local.
        timeout_s: Seconds it may take.
    """

    max_input_chars: int = 4000
    max_output_tokens: int = 256
    temperature: float | None = None
    seed: int = 0
    timeout_s: float = 300.0


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
    sample: int = Field(default=0, description="Its number among the samples of its race.")
    race: str = Field(default="", description="The race among samples that it runs in, if any.")
    lesson: str = Field(default="", description="What earlier steps like it have shown, quoted.")
    output: OutputKind = "text"
    output_schema: str = ""
    grammar: str = Field(default="", description="GBNF that a local model's answer obeys, if any.")
    output_requirements: tuple[str, ...] = Field(
        default=(), description="What else its gates will look at."
    )

    @property
    def name(self) -> str:
        """Names it within its run: step and attempt, and the sample where there are several."""
        return f"{self.step}.{self.attempt}" + (f".{self.sample}" if self.sample else "")

    def cache_key(self) -> str:
        """Return the key that a finished attempt is found under: its name and its input's hash."""
        text = self.model_dump_json(exclude={"key", "run", "race", "timeout_s"})
        return f"{self.key}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"


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
    usage: Usage = Usage()
    category: Category | None = None
    error: str = ""
    tokens_saved: int = Field(default=0, description="What it may have gone on to write.")
    timeout_s: float | None = Field(default=None, description="The limit it ran under.")

    @property
    def work_s(self) -> float:
        """Seconds of work: from start to end, less the wait for the model's turn."""
        return max(0.0, self.ended_at - self.started_at - self.queue_s)


_FORMS: dict[OutputKind, str] = {
    "text": "",
    "json": "Answer with JSON alone.",
    "python": "Answer with one Python file in a ```python block.",
    "shell": "Answer with one shell script in a ```sh block.",
    "files": "Answer with each file in a block of its own, its path on the line before.",
}


def prompt_of(request: SubagentRequest) -> str:
    """Write the user's message: what there is to read, each text under its name, then the work.

    The texts and their labels take at most `max_input_chars` together.
    """
    parts = _readings(request.upstream, request.max_input_chars)
    parts.append(request.prompt)
    if form := _FORMS[request.output]:
        parts.append(form)
    parts += request.output_requirements
    if request.output_schema:
        parts.append(f"It has to fit this JSON Schema: {request.output_schema}")
    if request.lesson:
        parts.append(request.lesson)
    if request.previous:
        previous = excerpt(request.previous, request.max_input_chars // 2)
        parts.append(f"This was tried before:\n{previous}")
    if request.feedback:
        parts.append(f"The last answer was not accepted: {request.feedback}")
    return "\n\n".join(parts)


def _readings(given: Sequence[StepOutput], limit: int) -> list[str]:
    labels = [_label(text) for text in given]
    if sum(map(len, labels)) > limit // 2:
        labels = [f"{text.name}: " for text in given]
    room = limit - sum(len(label) + 2 for label in labels)
    lengths = shares([len(text.text) for text in given], room)
    return [
        label + cut(text.text, length)
        for label, text, length in zip(labels, given, lengths, strict=True)
    ]


def _label(text: StepOutput) -> str:
    if not text.agent:
        return f"Input {text.name}:\n"
    return f"Result of {text.name} ({text.agent}):\n"
