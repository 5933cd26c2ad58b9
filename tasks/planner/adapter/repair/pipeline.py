"""Repairs a plan that a small model wrote, where the objective leaves no doubt. Pure.

- A plan of one step asks what was asked, in the objective's own words: nothing of it is lost.
- Two words written as one are two, and what the model adds of its own or says twice is left out.
- A step that compares, chooses or adds up, and names what other steps are about, needs these steps.
- A step that compares or chooses among what several agents made, and is one of theirs, is given to
  a judge.
- Stages written with arrows are a chain, where each has its step.
- Work on a joined result is done once, not for each thing that was joined.
- A step that asks for nothing (`Write no tests`) is left out where no other needs it.
- A last step that asks of the same steps what another asks of them is left out.
- Parallel steps of which the objective wants one result (`which of these`, `in one table`) get a
  step that reads them all.
- A limit or a fact in brackets that no step says is put back: `missing_constraints` decides where.
- A limit that a step says as a plain measure (`max 8 words` as `8 words`) is one again.

Of 320 hand-written plans, all of them right, all but the first rule change none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .....task_ir import MAX_STEPS, Agent, Step, TaskIR, final_step
from ..line_format import system_prompt
from .arrow_chains import split_arrow_chains
from .duplicated_tails import merge_duplicated_steps
from .joins import JUDGE, add_judge, assign_neutral_judge, link_joining_steps
from .limits import restore_limits
from .missing_constraints import restore_constraints
from .parallel_steps import parallel_groups
from .typos import correct_typos, remove_repeated_phrases

__all__ = ["RepairedPlan", "repair_plan"]

_NOTHING = re.compile(r"(?:add|do|give|make|write) no\b(?! more| less| fewer)", re.IGNORECASE)


class RepairedPlan(NamedTuple):
    """A plan, and what was changed in it, a clause each."""

    plan: TaskIR
    notes: tuple[str, ...] = ()


def repair_plan(plan: TaskIR, max_steps: int = MAX_STEPS) -> RepairedPlan:
    """Repair a plan by its objective; repairing it once more changes nothing.

    Args:
        plan: It has its objective.
        max_steps: The most steps it may have then.
    """
    asking, empty = _without_nothing(plan.steps)
    if len(asking) == 1:
        return _whole(plan, asking[0], empty)
    asking, typos = correct_typos(asking, plan.objective)
    steps, chained = split_arrow_chains(asking, plan.objective)
    groups = parallel_groups(steps)
    steps, merged = merge_duplicated_steps(steps, groups, plan.objective)
    if merged:
        steps = _numbered(steps)
        groups = parallel_groups(steps)
    steps, linked = link_joining_steps(steps, groups)
    steps, dropped = _without_repeats(steps)
    steps, judged = assign_neutral_judge(steps, groups)
    steps, constraints = restore_constraints(steps, groups, plan.objective)
    steps, limits = restore_limits(steps, plan.objective)
    steps, repeated = remove_repeated_phrases(steps, plan.objective)
    steps, added = add_judge(steps, groups, plan.objective, max_steps)
    structure = (*chained, *merged, *linked, *dropped, *judged)
    notes = (*empty, *typos, *structure, *constraints, *limits, *repeated, *added)
    return _with(plan, steps, notes) if notes else RepairedPlan(plan)


def _with(plan: TaskIR, steps: Sequence[Step], notes: tuple[str, ...]) -> RepairedPlan:
    used = {step.agent for step in steps}
    agents = tuple(agent for agent in plan.agents if agent.name in used)
    if JUDGE in used.difference(agent.name for agent in agents):
        agents = (*agents, Agent(name=JUDGE, system_prompt=system_prompt(JUDGE)))
    changed = {"agents": agents, "steps": tuple(steps), "final_step": final_step(steps)}
    return RepairedPlan(plan.model_copy(update=changed), notes)


def _whole(plan: TaskIR, step: Step, notes: Sequence[str]) -> RepairedPlan:
    if step.prompt != plan.objective:
        step = step.model_copy(update={"prompt": plan.objective})
        notes = (*notes, f"{step.id} asks what the objective asks")
    return _with(plan, (step,), tuple(notes)) if notes else RepairedPlan(plan)


def _numbered(steps: Sequence[Step]) -> list[Step]:
    names = {step.id: f"S{number}" for number, step in enumerate(steps, 1)}
    found: list[Step] = []
    for step in steps:
        needs = tuple(names[need] for need in step.depends_on)
        found.append(step.model_copy(update={"id": names[step.id], "depends_on": needs}))
    return found


def _without_repeats(steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    while len(found[-1].depends_on) > 1 and any(_same(step, found[-1]) for step in found[:-1]):
        notes.append(f"{found.pop().id} is left out, it asks what another step asks")
    return found, notes


def _without_nothing(steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    for step in reversed(steps):
        needed = any(step.id in other.depends_on for other in found)
        if _NOTHING.match(step.prompt) and not needed and len(found) > 1:
            found.remove(step)
            notes.insert(0, f"{step.id} is left out, it asks for nothing")
    return _numbered(found) if notes else found, notes


def _same(step: Step, other: Step) -> bool:
    return step.prompt == other.prompt and set(step.depends_on) == set(other.depends_on)
