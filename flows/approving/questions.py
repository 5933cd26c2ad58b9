"""What a person is asked about a plan, a step, and a step that failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from ...approvals.question import PLAN_QUESTION, Question
from ...result import excerpt
from ...text import dollars, fenced, one_line, plain_words, plural
from ..bounds.estimate import Estimate
from ..compile import CompiledPlan, CompiledStep
from ..records import StepRecord

__all__ = ["failure_question", "plain_question", "plan_question", "step_question"]

_COLUMNS = 78  # of a block of code, in the narrower of Prefect's UIs
_SHORT = 300
_FAR = re.compile(r"[^\S\n]{33,}")
_MOST_EMPTY = 4


def plan_question(plan: CompiledPlan, estimated: Estimate, at: float) -> Question:
    """Ask about a plan before anything of it starts."""
    return Question(
        id=PLAN_QUESTION,
        asked="plan",
        subject=plan.content_hash,
        title=f"The plan of {plural(len(plan.steps), 'step')}: {one_line(plan.objective, 100)}",
        text="\n\n".join(_plan_parts(plan, estimated)),
        at=at,
    )


def _plan_parts(plan: CompiledPlan, estimated: Estimate) -> Iterator[str]:
    """Write the steps with all that their models are told: nothing is cut."""
    objective = _quoted(plan.objective).lstrip()
    yield objective if "`" in objective else f"**{objective}**"
    money = "" if estimated.usd is None else f", {dollars(estimated.usd)}"
    yield f"{plural(len(plan.steps), 'step')}, about {estimated.tokens:,} tokens{money}."
    # Short ones stand in a list without gaps.
    parts = map(_plan_line, plan.steps)
    for is_short, lines in groupby(parts, key=lambda part: "\n" not in part):
        yield ("\n" if is_short else "\n\n").join(lines)
    agents = dict.fromkeys((step.agent, step.instructions) for step in plan.steps)
    for agent, instructions in agents:
        if instructions:
            yield f"The instructions of {plain_words(agent)}: {_quoted(instructions)}"


def _plan_line(step: CompiledStep) -> str:
    who = f"- **{step.id}** {plain_words(step.agent)} ({step.tier}){_after(step)}"
    lesson = f"\n\n{_lesson(step)}" if step.lesson else ""
    return f"{who}{_tools(step)}: {_quoted(step.prompt)}{lesson}"


def step_question(step: CompiledStep, digest: str, at: float) -> Question:
    """Ask about a step before it begins; `digest` is the hash of it and of what it reads."""
    return Question(
        id=step.id,
        asked="step",
        subject=digest,
        step=step.id,
        attempt=1,
        title=f"{step.id} {one_line(step.agent, 40)}, before it begins",
        text=_step_text(step),
        at=at,
    )


def failure_question(record: StepRecord, digest: str, again: int, at: float) -> Question:
    """Ask about a step whose last attempt failed.

    Args:
        again: How often the step was begun again.
    """
    step, last = record.step, record.attempts[-1]
    name = f"{step.id}-{again}" if again else step.id
    what = f"{last.category}: {last.error or ''}"
    best = f"\n\nWhat there is of it: {_quoted(excerpt(record.best))}" if record.best else ""
    return Question(
        id=f"{name}.failed.{last.number}",
        asked="failure",
        subject=digest,
        step=step.id,
        attempt=last.number,
        title=f"{step.id} {one_line(step.agent, 40)} failed: {one_line(what, 100)}",
        text=(
            f"{_step_text(step)}\n\n"
            f"Attempt {last.number} failed: {_quoted(excerpt(what, 2000))}{best}"
        ),
        at=at,
    )


def plain_question(name: str, record: StepRecord, attempt: int, at: float) -> Question:
    """Ask about an attempt of which no more is known than that it waits for a person."""
    step = record.step
    return Question(
        id=name,
        asked="call",
        step=step.id,
        attempt=attempt,
        title=f"{step.id} {one_line(step.agent, 40)}, in the middle of attempt {attempt}",
        text=_step_text(step),
        at=at,
    )


def _after(step: CompiledStep) -> str:
    return f", after {', '.join(step.upstream)}" if step.upstream else ""


def _tools(step: CompiledStep) -> str:
    return f", with {', '.join(map(plain_words, step.tools))}" if step.tools else ""


def _step_text(step: CompiledStep) -> str:
    reads = f" It reads {', '.join(step.upstream)}." if step.upstream else ""
    tools = f" Its tools: {', '.join(map(plain_words, step.tools))}." if step.tools else ""
    says = f"\n\nIts instructions: {_quoted(step.instructions)}" if step.instructions else ""
    lesson = f"\n\n{_lesson(step)}" if step.lesson else ""
    who = f"{step.id}, by {plain_words(step.agent)} on tier {step.tier}.{reads}{tools}"
    return f"{_quoted(step.prompt).lstrip()}\n\n{who}{says}{lesson}"


def _lesson(step: CompiledStep) -> str:
    return f"What the memory adds for {step.id}: {_quoted(step.lesson)}"


def _quoted(text: str) -> str:
    """Write what somebody wrote, whole: in the line if it is short, or else in lines of its own."""
    if len(text) <= _SHORT and " ".join(text.split()) == text:
        return plain_words(text)
    return f"\n\n{fenced(_close(text), columns=_COLUMNS)}"


def _close(text: str) -> str:
    """Count spaces and empty lines where there are so many that the rest is out of sight."""
    near = _FAR.sub(lambda row: f"[{len(row[0]):,} spaces]", text)
    parts: list[str] = []
    for is_empty, lines in groupby(near.split("\n"), key=lambda line: not line.strip()):
        found = list(lines)
        is_long = is_empty and len(found) > _MOST_EMPTY
        parts += ["", f"[{len(found):,} empty lines]", ""] if is_long else found
    return "\n".join(parts)
