"""The orchestrator asked again: to replace a step that failed, or to write the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UnusableReplacementError
from ..plan.output import StepOutput
from ..quoting import Quote, called
from ..store.attempt import excerpt
from .planner.line_format import WORDS
from .subagent.request import CallLimits, SubagentRequest
from .subagent.task import subagent

__all__ = [
    "GRAMMAR",
    "Replacement",
    "join_outputs",
    "read_replacement",
    "replacement_request",
    "replan",
    "synthesis",
    "synthesise",
]


replan = subagent.with_options(name="replan")

_INSTRUCTIONS = (
    "You lead a team of specialists. A step of their plan failed. Replace it with one that can "
    "succeed: simpler, clearer, or given to somebody better suited. Answer with one line, "
    "`Name: what to do`. If the objective can be reached without the step, answer `SKIP: why`."
)

GRAMMAR = rf"""root ::= ("SKIP" | agent) ": " prompt
agent ::= [A-Z] letter{{0,15}} (" " letter{{1,15}}){{0,2}}
{WORDS}"""
"""What a local model writes under: one line that `read_replacement` can read, of bounded length."""

_FIX = "Use a larger model as the orchestrator, or set replans to 0."
_MARKS = "`*_\"'.,;:!?"
_LINE = re.compile(r"(?:S?\d+[.:)] *)?[*`]*(?P<name>[^\W\d_][^:\n]{0,59}): *(?P<prompt>\S.*)")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the orchestrator makes of a failed step. Without an agent it does without the step."""

    prompt: str
    agent: str = ""


def replacement_request(
    objective: str,
    step: str,
    agent: str,
    prompt: str,
    failures: Sequence[str],
    *,
    key: str,
    run: str,
    model: str,
    evidence_chars: int,
    limits: CallLimits,
) -> SubagentRequest:
    """Return the request to the orchestrator to replace a step.

    Args:
        failures: What was wrong with its attempts, the newest first.
        evidence_chars: Characters of that which it is shown.
        limits: What bounds the call.
    """
    evidence = excerpt("\n".join(f"- {failure}" for failure in failures), evidence_chars)
    parts = (
        f"Objective: {objective}",
        f"The failed step: {agent}: {prompt}",
        f"What was wrong:\n{evidence}",
        "Write the line that replaces it.",
    )
    objective_line, _, _, last = parts
    # Further lines of a failure are indented, so that none passes for another failure.
    indented = (f"- {failure}".replace("\n", "\n  ") for failure in failures)
    shown = excerpt("\n".join(indented), evidence_chars)
    asked = (
        objective_line,
        Quote(text=prompt, label=f"The failed step, of {called(agent)}:"),
        Quote(text=shown, label="What was wrong:"),
        last,
    )
    return SubagentRequest(
        key=key,
        run=run,
        step=f"{step}-replan",
        agent="Orchestrator",
        attempt=1,
        tier="orchestrator",
        model=model,
        instructions=_INSTRUCTIONS,
        prompt="\n\n".join(parts),
        asked=asked,
        grammar=GRAMMAR,
        **dict(limits),
    )


def read_replacement(text: str, agent: str, prompt: str) -> Replacement:
    """Read the orchestrator's answer from its first line that names an agent on.

    Args:
        agent: Whom the step that is replaced was given to.
        prompt: What it asked.

    Raises:
        UnusableReplacementError: None is, or it asks the same of the same agent; it has the text.
    """
    failed = _normal(f"{agent}: {prompt}")
    lines = text.strip().splitlines()
    for number, line in enumerate(map(str.strip, lines), 1):
        if match := _LINE.fullmatch(line.strip("`*")):
            # A capable model may have more to say than fits a line.
            asked = "\n".join([match["prompt"].strip(), *lines[number:]]).strip()
            name = match["name"].rstrip(" *`")
            if name.upper() == "SKIP":
                return Replacement(asked)
            if _normal(f"{name}: {asked}") == failed:
                raise UnusableReplacementError(
                    f"The orchestrator's replacement is the step itself: {line[:80]!r}.",
                    _FIX,
                    text,
                )
            return Replacement(asked, name)
    raise UnusableReplacementError(
        f"The orchestrator wrote no replacement: {text[:80]!r}.",
        _FIX,
        text,
    )


def _normal(prompt: str) -> str:
    """A prompt without what makes no difference: case, blanks, marks at the ends of words."""
    return " ".join(filter(None, (word.strip(_MARKS) for word in prompt.casefold().split())))


synthesise = subagent.with_options(name="synthesise")

_ANSWER_INSTRUCTIONS = (
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
        instructions=_ANSWER_INSTRUCTIONS,
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
        f"## {' · '.join(filter(None, [output.name, output.agent]))}\n\n{_in_markdown(output)}"
        for output in outputs
    )


def _in_markdown(output: StepOutput) -> str:
    if output.kind not in ("python", "shell", "json"):
        return output.text
    longest = max(map(len, re.findall(r"`+", output.text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{output.kind}\n{output.text.rstrip()}\n{fence}"
