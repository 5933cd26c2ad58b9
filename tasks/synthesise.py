"""Make one answer of the last steps' outputs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..output import StepOutput
from .subagent.request import CallLimits, SubagentRequest
from .subagent.task import subagent

__all__ = ["join_outputs", "synthesis", "synthesise"]

synthesise = subagent.with_options(name="synthesise")

_INSTRUCTIONS = (
    "You write the final answer to an objective from the results of the steps that worked on it. "
    "Use what they found; add nothing they did not. Be direct and complete."
)


def synthesis(
    objective: str,
    outputs: tuple[StepOutput, ...],
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
        key=key,
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


def join_outputs(outputs: Sequence[StepOutput]) -> str:
    """Return one output as it stands, or several under their steps' names, code in blocks."""
    if len(outputs) < 2:
        return "".join(output.text for output in outputs)
    return "\n\n".join(
        f"## {output.name} · {output.agent}\n\n{_in_markdown(output)}" for output in outputs
    )


def _in_markdown(output: StepOutput) -> str:
    if output.kind not in ("python", "shell", "json"):
        return output.text
    longest = max(map(len, re.findall(r"`+", output.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{output.kind}\n{output.text.rstrip()}\n{fence}"
