"""What a subagent is handed, and what it hands back."""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict

from ..errors import Category
from ..result import Usage, excerpt
from ..task_ir import OutputKind, TierName

__all__ = ["Assignment", "Upstream", "Verdict", "prompt_of"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Upstream(_Frozen):
    """A finished step's output, as a step that depends on it may read it."""

    step: str
    agent: str
    text: str


class Assignment(_Frozen):
    """All that one attempt depends on.

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
    upstream: tuple[Upstream, ...] = ()
    feedback: str = ""
    output: OutputKind = "text"
    output_schema: str = ""
    max_input_chars: int = 4000
    max_output_tokens: int = 256
    temperature: float | None = None
    seed: int = 0
    timeout_s: float = 300.0

    def cache_key(self) -> str:
        """Return the key that a finished attempt is found under: its name and its input's hash."""
        text = self.model_dump_json(exclude={"key", "run", "timeout_s"})
        return f"{self.key}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Verdict(_Frozen):
    """How an attempt at an assignment ended. `category` is None if it succeeded."""

    text: str = ""
    model: str
    started_at: float
    ended_at: float
    queue_s: float = 0.0
    usage: Usage = Usage()
    category: Category | None = None
    error: str = ""


_FORMS: dict[OutputKind, str] = {
    "text": "",
    "json": "Answer with JSON alone.",
    "python": "Answer with one Python file in a ```python block.",
    "shell": "Answer with one shell script in a ```sh block.",
    "files": "Answer with each file in a block of its own, its path on the line before.",
}


def prompt_of(assignment: Assignment) -> str:
    """Write the user's message: the inputs, bounded and each under its step's name, then the work.

    The upstream outputs share `max_input_chars` evenly, so that no one of them crowds out another.
    """
    share = assignment.max_input_chars // max(1, len(assignment.upstream))
    parts = [
        f"Result of {given.step} ({given.agent}):\n{excerpt(given.text, share)}"
        for given in assignment.upstream
    ]
    parts.append(assignment.prompt)
    if form := _FORMS[assignment.output]:
        parts.append(form)
    if assignment.output_schema:
        parts.append(f"It has to fit this JSON Schema: {assignment.output_schema}")
    if assignment.feedback:
        parts.append(f"Your last answer was not accepted: {excerpt(assignment.feedback)}")
    return "\n\n".join(parts)
