"""Make one answer of the last steps' outputs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..task_ir import OutputKind
from .subagent.request import CallLimits, SubagentRequest, Upstream
from .subagent.task import subagent

__all__ = ["as_they_are", "synthesis", "synthesise"]

synthesise = subagent.with_options(name="synthesise")

_INSTRUCTIONS = (
    "You write the final answer to an objective from the results of the steps that worked on it. "
    "Use what they found; add nothing they did not. Be direct and complete."
)


def synthesis(
    objective: str,
    outputs: tuple[Upstream, ...],
    *,
    done_when: Sequence[str] = (),
    key: str,
    run: str,
    model: str,
    limits: CallLimits,
) -> SubagentRequest:
    """Return the request to the orchestrator to answer an objective from these outputs.

    Args:
        done_when: What the plan calls done.
        limits: What bounds the call.
    """
    return SubagentRequest(
        key=f"{key}.answer.1",
        run=run,
        step="answer",
        agent="Orchestrator",
        attempt=1,
        tier="orchestrator",
        model=model,
        instructions=_INSTRUCTIONS,
        prompt="\n".join(
            [
                f"Objective: {objective}",
                *(f"It is done when: {condition}" for condition in done_when),
                "",
                "Write the final answer.",
            ]
        ),
        upstream=outputs,
        **dict(limits),
    )


def as_they_are(outputs: Sequence[Upstream], kinds: Sequence[OutputKind]) -> str:
    """Return one output as it stands, or several under their steps' names, code in blocks."""
    if len(outputs) < 2:
        return "".join(given.text for given in outputs)
    return "\n\n".join(
        f"## {given.step} · {given.agent}\n\n{_shown(given.text, kind)}"
        for given, kind in zip(outputs, kinds, strict=True)
    )


def _shown(text: str, kind: OutputKind) -> str:
    if kind not in ("python", "shell", "json"):
        return text
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text) or [""]))
    return f"{fence}{kind}\n{text.rstrip()}\n{fence}"
