"""Steps that join branches: what they need, who does them, and where one is missing. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .....task_ir import Step
from ..vocabulary import words
from .parallel_steps import Branch, ParallelGroup

__all__ = ["JUDGE", "add_judge", "assign_neutral_judge", "link_joining_steps"]

JUDGE = "Judge"
"""Whoever joins what several made."""

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
    r"|tabulated?|(?:in|into|as) (?:one|a single) (?:\w+ )?list|the total"
    r"|(?:one|a single) (?:\w+ )?(?:overview|ranking|report|summary|table))\b|\bwhich\?",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?:don'?t|doesn'?t|each|every|in total|later|no|not|(?:him|her|my|our|them)sel(?:f|ves)"
    r"|separate(?:ly)?|spare|without)\b",
    re.IGNORECASE,
)


def link_joining_steps(
    steps: Sequence[Step], groups: Sequence[ParallelGroup]
) -> tuple[list[Step], list[str]]:
    """Let what compares or adds up several branches by name need them all.

    Returns:
        The steps, and a clause for each that was changed; so do the others.
    """
    found, notes = [*steps], list[str]()
    for group in groups:
        for n, step in enumerate(found):
            joins = _JUDGES.match(step.prompt) or _GATHERS.match(step.prompt)
            if step.id in group.ids or not joins:
                continue
            lacks = _lacks(step, group, found[:n])
            if lacks:
                needs = sorted({*step.depends_on, *lacks}, key=lambda name: int(name[1:]))
                found[n] = step.model_copy(update={"depends_on": tuple(needs)})
                notes.append(f"{step.id} needs {', '.join(lacks)}, which it joins")
    return found, notes


def _lacks(step: Step, group: ParallelGroup, earlier: Sequence[Step]) -> list[str]:
    """Branches that a step names but doesn't need, if it names several and reads nothing else."""
    prompt_words = words(step.prompt)
    named = [branch.step.id for branch in group.branches if _names(prompt_words, branch, group)]
    reads_else = bool(step.depends_on) and not set(step.depends_on).intersection(group.ids)
    if len(named) < 2 or reads_else or not {other.id for other in earlier}.issuperset(group.ids):
        return []
    # What works on a branch stands for it.
    needs = [other for other in earlier if other.id in step.depends_on]
    read = {*step.depends_on}.union(*(need.depends_on for need in needs))
    return [name for name in named if name not in read]


def _names(prompt_words: frozenset[str], branch: Branch, group: ParallelGroup) -> bool:
    others = frozenset[str]().union(
        *(other.about for other in group.branches if other is not branch)
    )
    return branch.about <= prompt_words and not branch.about <= others


def assign_neutral_judge(
    steps: Sequence[Step], groups: Sequence[ParallelGroup]
) -> tuple[list[Step], list[str]]:
    """Give to a judge what one of several agents would judge of their own work."""
    found, notes = [*steps], list[str]()
    for n, step in enumerate(found):
        biased = any(_judges_its_own(step, group) for group in groups)
        if biased and not _asks_the_judge(found, step.prompt):
            found[n] = step.model_copy(update={"agent": JUDGE})
            notes.append(
                f"{step.id} is given to a {JUDGE}: {step.agent} contributed one of the options"
            )
    return found, notes


def _judges_its_own(step: Step, group: ParallelGroup) -> bool:
    judged = [branch.step.agent for branch in group.branches if branch.step.id in step.depends_on]
    sides = len(judged) > 1 and len(set(judged)) == len(judged)
    biased = sides and step.agent in judged and step.agent != JUDGE
    return biased and _JUDGES.match(step.prompt) is not None


def add_judge(
    steps: Sequence[Step], groups: Sequence[ParallelGroup], objective: str, max_steps: int
) -> tuple[list[Step], list[str]]:
    """Add a judge where the objective wants one result of branches that no step reads."""
    # Branches need nothing of each other: where all steps are in one group, nothing was linked.
    branches_only = len(groups) == 1 and len(groups[0].branches) == len(steps) < max_steps
    wanted = _wants_one_result(objective) and not _asks_the_judge(steps, objective)
    if not (branches_only and wanted):
        return [*steps], []
    name = f"S{len(steps) + 1}"
    needs = tuple(step.id for step in steps)
    judge = Step(id=name, agent=JUDGE, prompt=objective, depends_on=needs)
    return [*steps, judge], [f"{name} makes the one result that the objective wants"]


def _asks_the_judge(steps: Sequence[Step], prompt: str) -> bool:
    """Whether the judge is asked this already: no agent may be asked the same twice."""
    return any(step.agent == JUDGE and step.prompt == prompt for step in steps)


def _wants_one_result(objective: str) -> bool:
    return bool(_ONE_RESULT.search(objective)) and not _APART.search(objective)
