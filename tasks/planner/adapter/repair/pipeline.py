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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .....task_ir import MAX_STEPS, Agent, Step, TaskIR, final_step
from ..line_format import system_prompt
from . import arrow_chains, duplicated_tails, joins, limits, missing_constraints, typos
from .joins import JUDGE
from .parallel_steps import ParallelGroup, parallel_groups

__all__ = ["RULES", "Draft", "RepairedPlan", "Rule", "repair_by", "repair_plan"]

_NOTHING = re.compile(r"(?:add|do|give|make|write) no\b(?! more| less| fewer)", re.IGNORECASE)


class RepairedPlan(NamedTuple):
    """A plan, and what was changed in it, a clause each."""

    plan: TaskIR
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A plan under repair.

    Attributes:
        groups: The groups of parallel steps, as they were before any was linked or reworded.
    """

    steps: tuple[Step, ...]
    objective: str
    max_steps: int
    groups: tuple[ParallelGroup, ...]


Repaired = tuple[Draft, Sequence[str]]
Rule = Callable[[Draft], Repaired]
"""Changes a plan or leaves it, and says what it changed, a clause each."""


def repair_plan(plan: TaskIR, max_steps: int = MAX_STEPS) -> RepairedPlan:
    """Repair a plan by its objective; repairing it once more changes nothing.

    Args:
        plan: It has its objective.
        max_steps: The most steps it may have then.
    """
    return repair_by(RULES, plan, max_steps)


def repair_by(rules: Sequence[Rule], plan: TaskIR, max_steps: int = MAX_STEPS) -> RepairedPlan:
    """Repair a plan by some of the rules, one after another."""
    draft = Draft(plan.steps, plan.objective, max_steps, parallel_groups(plan.steps))
    notes: list[str] = []
    for rule in rules:
        draft, clauses = rule(draft)
        notes += clauses
    return _with(plan, draft.steps, tuple(notes)) if notes else RepairedPlan(plan)


def leave_out_nothing(draft: Draft) -> Repaired:
    """Leave out steps that ask for nothing."""
    return _regrouped(draft, _without_nothing(draft.steps))


def ask_what_was_asked(draft: Draft) -> Repaired:
    """Let a plan of one step ask what was asked."""
    step = draft.steps[0]
    if len(draft.steps) > 1 or step.prompt == draft.objective:
        return draft, ()
    asked = step.model_copy(update={"prompt": draft.objective})
    return _regrouped(draft, ([asked], [f"{step.id} asks what the objective asks"]))


def part_words(draft: Draft) -> Repaired:
    """Part words that were written as one."""
    return _regrouped(draft, typos.part_words(draft.steps, draft.objective))


def write_names(draft: Draft) -> Repaired:
    """Name things as the objective names them."""
    return _regrouped(draft, typos.write_names(draft.steps, draft.objective))


def remove_own_clauses(draft: Draft) -> Repaired:
    """Leave out clauses of the model's own making."""
    return _regrouped(draft, typos.remove_own_clauses(draft.steps, draft.objective))


def split_arrow_chains(draft: Draft) -> Repaired:
    """Let stages written with arrows be a chain."""
    return _regrouped(draft, arrow_chains.split_arrow_chains(draft.steps, draft.objective))


def merge_duplicated_steps(draft: Draft) -> Repaired:
    """Do work on a joined result once."""
    steps, notes = duplicated_tails.merge_duplicated_steps(
        draft.steps, draft.groups, draft.objective
    )
    return _regrouped(draft, (_numbered(steps) if notes else steps, notes))


def link_joining_steps(draft: Draft) -> Repaired:
    """Let a step that joins others need them."""
    return _changed(draft, joins.link_joining_steps(draft.steps, draft.groups))


def leave_out_repeats(draft: Draft) -> Repaired:
    """Leave out a last step that asks what another asks."""
    return _changed(draft, _without_repeats(draft.steps))


def assign_neutral_judge(draft: Draft) -> Repaired:
    """Let nobody judge their own work."""
    return _changed(draft, joins.assign_neutral_judge(draft.steps, draft.groups))


def restore_compounds(draft: Draft) -> Repaired:
    """Put back `one-line`."""
    restored = missing_constraints.restore_compounds(draft.steps, draft.groups, draft.objective)
    return _changed(draft, restored)


def restore_measures(draft: Draft) -> Repaired:
    """Put back `of at most 100 words`."""
    restored = missing_constraints.restore_measures(draft.steps, draft.groups, draft.objective)
    return _changed(draft, restored)


def restore_measures_of_each(draft: Draft) -> Repaired:
    """Put back `60 words each`."""
    steps, groups, objective = draft.steps, draft.groups, draft.objective
    return _changed(draft, missing_constraints.restore_measures_of_each(steps, groups, objective))


def restore_brackets(draft: Draft) -> Repaired:
    """Put back what stands in brackets."""
    restored = missing_constraints.restore_brackets(draft.steps, draft.groups, draft.objective)
    return _changed(draft, restored)


def restore_limits(draft: Draft) -> Repaired:
    """Make an exact measure the limit that it was."""
    return _changed(draft, limits.restore_limits(draft.steps, draft.objective))


def remove_doubled_phrases(draft: Draft) -> Repaired:
    """Leave out what is said twice in a row."""
    return _changed(draft, typos.remove_doubled_phrases(draft.steps, draft.objective))


def remove_repeated_endings(draft: Draft) -> Repaired:
    """Leave out an end that says something again."""
    return _changed(draft, typos.remove_repeated_endings(draft.steps, draft.objective))


def add_judge(draft: Draft) -> Repaired:
    """Join parallel steps of which one result is wanted."""
    steps, groups = draft.steps, draft.groups
    return _changed(draft, joins.add_judge(steps, groups, draft.objective, draft.max_steps))


RULES: tuple[Rule, ...] = (
    leave_out_nothing,
    ask_what_was_asked,
    part_words,
    write_names,
    remove_own_clauses,
    split_arrow_chains,
    merge_duplicated_steps,
    link_joining_steps,
    leave_out_repeats,
    assign_neutral_judge,
    restore_compounds,
    restore_measures,
    restore_measures_of_each,
    restore_brackets,
    restore_limits,
    remove_doubled_phrases,
    remove_repeated_endings,
    add_judge,
)
"""All rules, in the order in which they are applied."""


def _changed(draft: Draft, found: tuple[Sequence[Step], Sequence[str]]) -> Repaired:
    steps, notes = found
    return (replace(draft, steps=tuple(steps)), notes) if notes else (draft, ())


def _regrouped(draft: Draft, found: tuple[Sequence[Step], Sequence[str]]) -> Repaired:
    changed, notes = _changed(draft, found)
    return replace(changed, groups=parallel_groups(changed.steps)), notes


def _with(plan: TaskIR, steps: Sequence[Step], notes: tuple[str, ...]) -> RepairedPlan:
    used = {step.agent for step in steps}
    agents = tuple(agent for agent in plan.agents if agent.name in used)
    if JUDGE in used.difference(agent.name for agent in agents):
        agents = (*agents, Agent(name=JUDGE, system_prompt=system_prompt(JUDGE)))
    changed = {"agents": agents, "steps": tuple(steps), "final_step": final_step(steps)}
    return RepairedPlan(plan.model_copy(update=changed), notes)


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
