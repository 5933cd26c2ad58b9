"""What a person is asked about a plan, a step, and a step that failed. Pure."""

from __future__ import annotations

from ...approvals.question import PLAN_QUESTION, Question
from ...result import excerpt
from ...text import dollars, one_line, plural
from ..bounds.estimate import Estimate
from ..compile import CompiledPlan, CompiledStep
from ..records import StepRecord

__all__ = ["failure_question", "plain_question", "plan_question", "step_question"]

_PROMPT_CHARS = 4000


def plan_question(plan: CompiledPlan, estimated: Estimate, at: float) -> Question:
    """Ask about a plan before anything of it starts."""
    money = "" if estimated.usd is None else f", {dollars(estimated.usd)}"
    steps = [
        f"- **{step.id}** {step.agent} ({step.tier}){_after(step)}: {one_line(step.prompt, 300)}"
        for step in plan.steps
    ]
    figures = f"{plural(len(plan.steps), 'step')}, about {estimated.tokens:,} tokens{money}."
    return Question(
        id=PLAN_QUESTION,
        asked="plan",
        subject=plan.content_hash,
        title=f"The plan of {plural(len(plan.steps), 'step')}: {one_line(plan.objective, 100)}",
        text="\n".join([f"**{one_line(plan.objective, 300)}**", "", figures, "", *steps]),
        at=at,
    )


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
    best = f"\n\nWhat there is of it:\n\n```\n{excerpt(record.best)}\n```" if record.best else ""
    return Question(
        id=f"{name}.failed.{last.number}",
        asked="failure",
        subject=digest,
        step=step.id,
        attempt=last.number,
        title=f"{step.id} {one_line(step.agent, 40)} failed: {one_line(what, 100)}",
        text=f"{_step_text(step)}\n\nAttempt {last.number} failed: {excerpt(what, 2000)}{best}",
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


def _step_text(step: CompiledStep) -> str:
    tools = f"\n\nIts tools: {', '.join(step.tools)}." if step.tools else ""
    reads = f" It reads {', '.join(step.upstream)}." if step.upstream else ""
    who = f"**{one_line(step.agent, 80)}** on tier {step.tier}.{reads}"
    return f"{who}\n\n{excerpt(step.prompt, _PROMPT_CHARS)}{tools}"
