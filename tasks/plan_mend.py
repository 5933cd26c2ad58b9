"""What a small model leaves out of a plan, mended where the objective leaves no doubt. Pure.

- A plan of one step asks what was asked, in the objective's own words: nothing of it is lost.
- A step that compares, chooses or adds up, and names what other steps are about, needs these steps.
- A step that compares or chooses among what several agents made, as one of them, is a judge's.
- Stages told with arrows are a chain, where each has its step.
- A step that asks for nothing (`Write no tests`) is left out where no other needs it.
- A last step that asks of the same steps what another asks of them is left out.
- Lanes of which the objective wants one result (`which of these`, `in one table`) get a step that
  reads them all.
- A limit or a fact in brackets that no step says is put back: `plan_lost` says where.

Of 320 hand-written plans, all of them right, all but the first rule change none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..task_ir import MAX_STEPS, Agent, Step, TaskIR
from .plan_arrows import chained
from .plan_lanes import Lane, Row, rows
from .plan_lines import final_step, system_prompt
from .plan_lost import restored
from .plan_words import words

__all__ = ["Mended", "mended"]

_JUDGE = "Judge"
_JUDGES = re.compile(
    r"(?:choose|compare|conclude|decide|judge|pick|rank|recommend)\b"
    r"|(?:say|tell)\s+(?:\w+\s+)?(?:which|whether|who)\b",
    re.IGNORECASE,
)
_GATHERS = re.compile(
    r"(?:add|combine|merge|sum|tabulate|total)\b"
    r"|(?:make|put|lay|compile|write|create)\b.*\b(?:table|grid|together|into one)\b",
    re.IGNORECASE,
)
_ONE_RESULT = re.compile(
    r"\b(?:which (?:of|one|should|would|fits|suits)"
    r"|which (?:is|are) (?:more|\w+er|(?:the )?(?:better|right|\w+est))\b"
    r"|who wins|compared?|comparison|choose|rank(?:ed)?|(?:a|one|the) ranking|decide(?! on)|verdict"
    r"|versus|vs\.?|recommend one|pick (?:one|the)|(?:sum|add) (?:it |them |these |all )?up|overall"
    r"|(?:in|into|as) (?:one|a single) (?:\w+ )?list|the total"
    r"|(?:one|a single) (?:\w+ )?(?:overview|ranking|report|summary|table))\b|\bwhich\?",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(?:add|do|give|make|write) no\b(?! more| less| fewer)", re.IGNORECASE)
_APART = re.compile(
    r"\b(?:don'?t|doesn'?t|each|every|in total|later|no|not|(?:him|her|my|our|them)sel(?:f|ves)"
    r"|separate(?:ly)?|spare|without)\b",
    re.IGNORECASE,
)


class Mended(NamedTuple):
    """A plan, and what was done to it, a clause each."""

    plan: TaskIR
    notes: tuple[str, ...] = ()


def mended(plan: TaskIR, max_steps: int = MAX_STEPS) -> Mended:
    """Mend a plan by its objective; mended once more it stays as it is.

    Args:
        plan: It has its objective.
        max_steps: The most steps it may have then.
    """
    asking, empty = _without_nothing(plan.steps)
    if len(asking) == 1:
        return _whole(plan, asking[0], empty)
    found = rows(asking)
    steps, ordered = chained(asking, plan.objective)
    steps, linked = _linked(steps, found)
    steps, dropped = _without_repeats(steps)
    steps, judged = _judged_fairly(steps, found)
    steps, told = restored(steps, found, plan.objective)
    steps, joined = _joined(steps, found, plan.objective, max_steps)
    notes = (*empty, *ordered, *linked, *dropped, *judged, *told, *joined)
    if not notes:
        return Mended(plan)
    done = _with(plan, steps, notes)
    if not dropped:
        return done
    again = mended(done.plan, max_steps)  # what only the dropped step needed may go now
    return Mended(again.plan, (*notes, *again.notes))


def _with(plan: TaskIR, steps: Sequence[Step], notes: tuple[str, ...]) -> Mended:
    used = {step.agent for step in steps}
    agents = tuple(agent for agent in plan.agents if agent.name in used)
    if _JUDGE in used.difference(agent.name for agent in agents):
        agents = (*agents, Agent(name=_JUDGE, system_prompt=system_prompt(_JUDGE)))
    changed = {"agents": agents, "steps": tuple(steps), "final_step": final_step(steps)}
    return Mended(plan.model_copy(update=changed), notes)


def _whole(plan: TaskIR, step: Step, notes: Sequence[str]) -> Mended:
    if step.prompt != plan.objective:
        step = step.model_copy(update={"prompt": plan.objective})
        notes = (*notes, f"{step.id} asks what the objective asks")
    return _with(plan, (step,), tuple(notes)) if notes else Mended(plan)


def _linked(steps: Sequence[Step], among: Sequence[Row]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    for row in among:
        for n, step in enumerate(found):
            joins = _JUDGES.match(step.prompt) or _GATHERS.match(step.prompt)
            if step.id in row.ids or not joins:
                continue
            lacks = _lacks(step, row, found[:n])
            if lacks:
                needs = sorted({*step.depends_on, *lacks}, key=lambda name: int(name[1:]))
                found[n] = step.model_copy(update={"depends_on": tuple(needs)})
                notes.append(f"{step.id} needs {', '.join(lacks)}, which it joins")
    return found, notes


def _lacks(step: Step, row: Row, earlier: Sequence[Step]) -> list[str]:
    """Lanes that a step names and doesn't need, where it names several and reads nothing else."""
    said = words(step.prompt)
    named = [lane.step.id for lane in row.lanes if _names(said, lane, row)]
    reads_else = bool(step.depends_on) and not set(step.depends_on).intersection(row.ids)
    if len(named) < 2 or reads_else or not {one.id for one in earlier}.issuperset(row.ids):
        return []
    # What works on a lane stands for it.
    needs = [one for one in earlier if one.id in step.depends_on]
    read = {*step.depends_on}.union(*(one.depends_on for one in needs))
    return [name for name in named if name not in read]


def _names(said: frozenset[str], lane: Lane, row: Row) -> bool:
    others = frozenset[str]().union(*(one.about for one in row.lanes if one is not lane))
    return lane.about <= said and not lane.about <= others


def _without_repeats(steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    while len(found[-1].depends_on) > 1 and any(_same(one, found[-1]) for one in found[:-1]):
        notes.append(f"{found.pop().id} is left out, it asks what another step asks")
    return found, notes


def _without_nothing(steps: Sequence[Step]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    for step in reversed(steps):
        needed = any(step.id in one.depends_on for one in found)
        if _NOTHING.match(step.prompt) and not needed and len(found) > 1:
            found.remove(step)
            notes.insert(0, f"{step.id} is left out, it asks for nothing")
    return found, notes


def _same(one: Step, other: Step) -> bool:
    return one.prompt == other.prompt and set(one.depends_on) == set(other.depends_on)


def _judged_fairly(steps: Sequence[Step], among: Sequence[Row]) -> tuple[list[Step], list[str]]:
    found, notes = [*steps], list[str]()
    for n, step in enumerate(found):
        biased = any(_judges_its_own(step, row) for row in among)
        if biased and not _asks_the_judge(found, step.prompt):
            found[n] = step.model_copy(update={"agent": _JUDGE})
            notes.append(f"{step.id} is for a {_JUDGE}: {step.agent} has a side in it")
    return found, notes


def _judges_its_own(step: Step, row: Row) -> bool:
    judged = [lane.step.agent for lane in row.lanes if lane.step.id in step.depends_on]
    sides = len(judged) > 1 and len(set(judged)) == len(judged)
    biased = sides and step.agent in judged and step.agent != _JUDGE
    return biased and _JUDGES.match(step.prompt) is not None


def _joined(
    steps: Sequence[Step], among: Sequence[Row], objective: str, max_steps: int
) -> tuple[list[Step], list[str]]:
    # Lanes need nothing of each other: where all steps are lanes of one row, nothing was linked.
    lanes_only = len(among) == 1 and len(among[0].lanes) == len(steps) < max_steps
    wanted = _wants_one_result(objective) and not _asks_the_judge(steps, objective)
    if not (lanes_only and wanted):
        return [*steps], []
    name = f"S{len(steps) + 1}"
    needs = tuple(step.id for step in steps)
    judge = Step(id=name, agent=_JUDGE, prompt=objective, depends_on=needs)
    return [*steps, judge], [f"{name} makes the one result that the objective wants"]


def _asks_the_judge(steps: Sequence[Step], prompt: str) -> bool:
    """Whether the judge is asked this already: no agent may be asked the same twice."""
    return any(step.agent == _JUDGE and step.prompt == prompt for step in steps)


def _wants_one_result(objective: str) -> bool:
    return bool(_ONE_RESULT.search(objective)) and not _APART.search(objective)
