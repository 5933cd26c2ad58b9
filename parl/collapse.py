"""Serial collapse and spurious parallelism: what of a run's plan took time or requests for nothing.

Both names are Kimi K2.5's (arXiv 2602.02276): steps one after another that need nothing of each
other, and steps whose outputs serve nothing. What is found is a sign, not a proof: it is read from
words, and where there are too few of them nothing is said. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from ..metrics.parl import CollapseFinding, OrchestratorTurn
from ..plan.conditions import steps_of
from ..plan.step import Step, needs_of
from ..plan.task_ir import TaskIR
from ..store.step import StepState
from ..tasks.planner.plan_coverage import TASK, tokens, words
from ..tasks.planner.plan_score import same_prompts

__all__ = ["MOST_FINDINGS", "PlanRun", "acted_steps", "find_collapse"]


MOST_FINDINGS = 40
"""Findings of a run that are kept."""
_CHARS = 20_000  # of an output; what a longer one says is not known
_LEAST = 8  # words that a text has to have for its silence to say something
_BY_CHANCE = 0.15  # of a text's new words: as many stand in another one about something near
_COMPARED = 100  # steps of one kind whose prompts are compared with each other
_READING = frozenset({"documents", "python", "web"})
"""Toolsets that act on nothing outside of the run; a step with others may have done its work."""

_RARE = re.compile(r"\d[\d.,:]*\d|\b\w*[_@/#]\w+|\b[a-z]+[A-Z]\w*|(?<=[\w,;] )[A-Z]\w+")
"""Numbers, names and identifiers; a capital at the beginning of a sentence makes no name."""
_REFERS = re.compile(
    r"\b(?:above|aforementioned|all of|another|answers?|based on|before|best|both|candidates?"
    r"|chosen|collected|described|each of|earlier|else|final(?:ly)?|findings|first|found|gathered"
    r"|given|instead|it|its|listed|missing|more|others?|outputs?|previous|prior|provided|remaining"
    r"|results?|same|selected|steps?|still|such|them|their|then|these|they|this|those|together"
    r"|using|verdicts?)\b"
    r"|\b(?:choose|combine|compare|conclude|condense|critique|decide|edit|evaluate|improve|join"
    r"|judge|merge|pick|polish|proofread|rank|recommend|review|rewrite|shorten|summari[sz]e"
    r"|synthesi[sz]e|translate)\b"
    r"|\bthe (?:article|code|data|document|drafts?|facts|function|ideas?|lists?|module|notes?|one"
    r"|options?|outlines?|plan|poem|program|proposal|report|script|story|summar(?:y|ies)|table"
    r"|texts?|topic|winner)\b",
    re.IGNORECASE,
)
"""How a prompt speaks of what it is shown."""
_GOES_ON = re.compile(r"\b(?:additional|again|also|check|further|retry|verify)\b", re.IGNORECASE)
"""How a prompt speaks of what was missing in what was found."""
_STEP = re.compile(r"\bS[1-9][0-9]{0,5}\b")
_ENGLISH = re.compile(r"\b(?:and|are|for|from|is|of|that|the|to|with)\b", re.IGNORECASE)
_SMALL_WORDS = 3  # of those in a text whose language is English


class _Made(NamedTuple):
    """What an output says.

    Attributes:
        said: Its words.
        new: Those that neither the objective nor a prompt has.
        rare: Its numbers, names and identifiers that are new.
        is_clear: Whether all of it was read, and it is English: how prompts refer to others, and
            which words say nothing, is not known of another language.
    """

    said: frozenset[str]
    new: frozenset[str]
    rare: frozenset[str]
    is_clear: bool


@dataclass(frozen=True)
class PlanRun:
    """A plan as it was run.

    Attributes:
        plan: The plan, with what turns have added to it.
        states: How its own steps ended, by their ids.
        outputs: The texts that they made, by their ids.
        turns: The orchestrator's, in order.
        answered: Ids of the steps that the answer was made of; none where there is no answer.
        acted: Ids of the steps whose tools may have done something outside of the run.
    """

    plan: TaskIR
    states: Mapping[str, StepState]
    outputs: Mapping[str, str]
    turns: Sequence[OrchestratorTurn] = ()
    answered: Collection[str] = ()
    acted: Collection[str] = ()

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The plan's own steps, by their ids."""
        return {step.id: step for step in self.plan.steps}

    @cached_property
    def wanted(self) -> frozenset[str]:
        """What the objective speaks of."""
        return words(self.plan.objective)

    @cached_property
    def written(self) -> frozenset[str]:
        """What the objective and all prompts speak of: nobody had to find that."""
        return self.wanted.union(*(words(step.prompt) for step in self.plan.steps))

    def is_done(self, name: str) -> bool:
        """Whether a step succeeded, with an output."""
        state = self.states.get(name)
        return state is not None and state.status == "succeeded" and bool(self.outputs.get(name))

    def is_as_planned(self, name: str) -> bool:
        """Whether a step succeeded as the plan has it: it was not replaced or given away."""
        return self.is_done(name) and not self.states[name].change

    def made(self, name: str) -> _Made:
        """What a step's output says; of a long one, its beginning."""
        if name not in self._read:
            whole = self.outputs.get(name, "")
            text = whole[:_CHARS]
            said, rare = words(text), _rare(text, self.written)
            is_clear = text == whole and len(_ENGLISH.findall(text)) >= _SMALL_WORDS
            self._read[name] = _Made(said, said - self.written - TASK, rare, is_clear)
        return self._read[name]

    @cached_property
    def _read(self) -> dict[str, _Made]:
        return {}


def acted_steps(states: Sequence[StepState]) -> frozenset[str]:
    """Return the ids of the steps and members whose tools may have acted outside of the run."""
    return frozenset(
        step.id
        for step in states
        for attempt in step.attempts
        if any(call.toolset not in _READING for call in attempt.calls)
    )


def find_collapse(run: PlanRun) -> tuple[CollapseFinding, ...]:
    """Return the signs of serial collapse, then those of spurious parallelism."""
    found = [*_waited(run), *_late(run), *_unread(run), *_repeated(run)]
    return tuple(found[:MOST_FINDINGS])


def _waited(run: PlanRun) -> Iterator[CollapseFinding]:
    """Find steps that use nothing of any step that they read."""
    for step in run.plan.steps:
        if not _is_judged(step) or not run.is_as_planned(step.id):
            continue
        in_condition = steps_of(step.when) if step.when else ()
        unused = [need for need in step.depends_on if _is_unused(run, step, run.steps[need])]
        # One that chooses among several, or joins them, may leave some of them out.
        if len(unused) == len(step.depends_on):
            for need in unused:
                if need not in in_condition:
                    yield CollapseFinding(kind="waited", step=step.id, other=need)


def _is_judged(step: Step) -> bool:
    """Whether a step is done once, by one agent that reads the outputs before it."""
    program = (step.for_each, step.repeat, step.plan, step.collect)
    return all(part is None for part in program) and not step.approval


def _is_unused(run: PlanRun, step: Step, need: Step) -> bool:
    if not run.is_as_planned(need.id) or need.id in run.acted or need.approval:
        return False
    # Code uses other code by what that does, not by its words.
    if not {step.output.kind, need.output.kind} <= {"text", "json"}:
        return False
    before, after = run.made(need.id), run.made(step.id)
    if not (before.is_clear and after.is_clear) or before.rare & after.rare:
        return False
    if len(before.new) < _LEAST or len(after.said) < _LEAST:
        return False
    shared = len(before.new & after.said)
    return shared <= _BY_CHANCE * len(before.new) and not _refers(run, step, need)


def _refers(run: PlanRun, step: Step, need: Step) -> bool:
    """Whether a prompt speaks of another step: by its id, its agent or its subject."""
    if _REFERS.search(step.prompt) or need.id in _STEP.findall(step.prompt):
        return True
    if need.agent and need.agent.casefold() in step.prompt.casefold():
        return True
    asked, subject = words(step.prompt), words(need.prompt)
    found = run.made(need.id).said - subject - run.wanted
    if _are_parallel(step.prompt, need.prompt, run.wanted - TASK):
        subject = frozenset[str]()
    return bool(asked & (subject | found) - TASK)


def _are_parallel(first: str, second: str, wanted: frozenset[str]) -> bool:
    """Whether prompts ask for the same of different things of the objective.

    What such prompts have in common is no reference of one to the other.
    """
    verbs = {prompt.split()[0].casefold() for prompt in (first, second) if prompt}
    here, there = words(first), words(second)
    return len(verbs) == 1 and bool((here - there) & wanted) and bool((there - here) & wanted)


def _rare(text: str, known: frozenset[str]) -> frozenset[str]:
    """Return the numbers, names and identifiers of a text that are not known before."""
    found = frozenset(match.casefold().rstrip(".,:") for match in _RARE.findall(text))
    return frozenset(each for each in found if not words(each) <= known)


def _late(run: PlanRun) -> Iterator[CollapseFinding]:
    """Find steps of later turns that could have been assigned in an earlier one."""
    later = {name for turn in run.turns[1:] for name in turn.steps}
    before = [name for name in run.steps if name not in later]
    for turn in run.turns[1:]:
        assigned = [name for name in turn.steps if name in run.steps]
        # Where something failed, a turn is there to make up for it.
        if before and all(_is_known(run, name) for name in before):
            new = _found_in(run, before)
            for name in assigned if len(new) >= _LEAST else ():
                if _is_late(run.steps[name], new, before):
                    yield CollapseFinding(kind="late", step=name, turn=turn.number)
        before += assigned


def _found_in(run: PlanRun, names: Sequence[str]) -> frozenset[str]:
    """Return the words of some steps' outputs that nobody had written before."""
    known = run.wanted.union(*(words(run.steps[name].prompt) for name in names))
    return frozenset[str]().union(*(run.made(name).said for name in names)) - known - TASK


def _is_known(run: PlanRun, name: str) -> bool:
    """Whether all is known that a step found, which is nothing where a condition skipped it."""
    if run.is_done(name):
        return run.made(name).is_clear
    return name in run.states and run.states[name].by_condition


def _is_late(step: Step, new: frozenset[str], before: Collection[str]) -> bool:
    if any(need in before for need in needs_of(step)) or not step.prompt:
        return False
    if _REFERS.search(step.prompt) or _GOES_ON.search(step.prompt):
        return False
    return not words(step.prompt) & new


def _unread(run: PlanRun) -> Iterator[CollapseFinding]:
    """Find steps whose output nobody read, where there is an answer."""
    if not run.answered:
        return
    read = {need for step in run.plan.steps for need in needs_of(step)}
    read |= {name for turn in run.turns for name in turn.seen}
    served = read.union(run.answered, run.acted)
    for name in run.steps:
        if name not in served and run.is_done(name):
            yield CollapseFinding(kind="unread", step=name)


def _repeated(run: PlanRun) -> Iterator[CollapseFinding]:
    """Find steps that ask the same of the same agent, who reads the same."""
    asked = tokens(run.plan.objective)
    alike: dict[object, list[Step]] = {}
    for step in run.plan.steps:
        if step.prompt and _is_judged(step) and run.is_as_planned(step.id):
            alike.setdefault(_apart_from_prompt(run.plan, step), []).append(step)
    reported: set[str] = set()
    for steps in alike.values():
        for first, second in combinations(steps[:_COMPARED], 2):
            if second.id not in reported and same_prompts(first.prompt, second.prompt, asked):
                reported.add(second.id)
                yield CollapseFinding(kind="repeated", step=second.id, other=first.id)


def _apart_from_prompt(plan: TaskIR, step: Step) -> object:
    """Return who does a step, what they read, and what they have to make."""
    agent = next((each for each in plan.agents if each.name == step.agent), None)
    who = (agent.system_prompt, agent.tier, agent.tools) if agent else step.agent
    how = step.model_dump_json(include={"model", "settings", "output", "inputs", "when"})
    return who, how, frozenset(step.depends_on)
