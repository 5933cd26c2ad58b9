"""Each fact as lines of a prompt. Pure.

What earlier users and models wrote is quoted, so that none of it can be taken for an instruction.
"""

from __future__ import annotations

from ....memory.advice.lesson import quote
from ....text import duration, one_line, plural
from .facts import EarlierPlan, EarlierStep, GateFact, PersonaFact, TierFact, ToolsetFact

__all__ = ["gate_line", "persona_line", "plan_lines", "tier_line", "toolset_lines"]

_RUN_CHARS = 8
_OBJECTIVE_CHARS = 160
_NAME_CHARS = 40
_NAMES = 6
"""Steps that are named one by one where a line lists some."""


def tier_line(fact: TierFact) -> str:
    """Write which model serves some tiers, and what it costs."""
    if fact.read_usd is None or fact.written_usd is None:
        cost = "price not known"
    elif fact.read_usd == fact.written_usd == 0:
        cost = "free: it runs on this machine"
    else:
        cost = f"${fact.read_usd:.2f} a million tokens read, ${fact.written_usd:.2f} written"
    return f"- {', '.join(fact.tiers)}: {one_line(fact.model, 100)}, {cost}"


def gate_line(fact: GateFact) -> str:
    """Write what passes a gate."""
    kinds = f" ({', '.join(fact.default_for)})" if fact.default_for else ""
    return f"- {fact.name}{kinds}: {one_line(fact.about, 80)}"


def toolset_lines(fact: ToolsetFact, *, short: bool) -> str:
    """Write a toolset and a line for each of its tools; short, their names alone."""
    about = f": {quote(fact.about, 120)}" if fact.about else ""
    more = f" and {fact.more_tools} more" if fact.more_tools else ""
    if short:
        names = ", ".join(one_line(tool.name, 64) for tool in fact.tools)
        return f"- {fact.name}{about} ({names}{more})"
    lines = [f"- {fact.name}{about}"]
    for tool in fact.tools:
        does = f": {quote(tool.about, 110)}" if tool.about else ""
        lines.append(f"  {one_line(tool.name, 64)}{does}")
    return "\n".join([*lines, f" {more}"] if more else lines)


def persona_line(fact: PersonaFact, *, short: bool) -> str:
    """Write who a persona is and how it did; short, without what it is good at."""
    line = f"- {quote(fact.title, _NAME_CHARS)}, for {', '.join(fact.task_types[:3])}"
    if fact.attempts:
        record = f"{plural(fact.attempts, 'attempt')}, {fact.rate:.0%} succeeded"
        line += f": {record}"
    return line if short or not fact.good_at else f"{line}; {quote(fact.good_at, 90)}"


def plan_lines(plan: EarlierPlan, *, most_steps: int, prompt_chars: int) -> str:
    """Write an earlier plan with at most so many steps, and how it ended."""
    shown = plan.steps[:most_steps]
    more = len(plan.steps) - len(shown) + plan.more_steps
    end = f"{plan.status}, makespan {duration(plan.makespan_s)}"
    if failed := [f"{step.id} {step.failed.value}" for step in plan.steps if step.failed]:
        end += f", failed: {_some(failed)}"
    if plan.not_begun:
        end += f", not begun: {_some(plan.not_begun)}"
    lines = [
        f"- Objective {quote(plan.objective, _OBJECTIVE_CHARS)} "
        f"(run {quote(plan.run[:_RUN_CHARS], _RUN_CHARS + 2)}): {end}",
        *(_step_line(step, prompt_chars) for step in shown),
    ]
    return "\n".join([*lines, f"  and {plural(more, 'more step')}"] if more else lines)


def _step_line(step: EarlierStep, prompt_chars: int) -> str:
    needs = f" <- {_some(step.needs)}" if step.needs else ""
    tries = f"{plural(step.attempts, 'attempt')}, " if step.attempts > 1 else ""
    agent, prompt = quote(step.agent, _NAME_CHARS), quote(step.prompt, prompt_chars)
    return f"  {step.id} {agent}: {prompt}{needs} ({tries}{duration(step.work_s)})"


def _some(names: list[str] | tuple[str, ...]) -> str:
    more = len(names) - _NAMES
    shown = ", ".join(names[:_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown
