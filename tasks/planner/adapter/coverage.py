"""What a plan's steps say, and how they cover what the objective lists. Counts words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ....task_ir import Step, TaskIR
from .enumerations import Listing
from .vocabulary import words

__all__ = ["ListCoverage", "Reading", "all_needs", "list_coverage"]


def all_needs(steps: Iterable[Step]) -> dict[str, frozenset[str]]:
    """Return what each step needs, directly or not.

    Args:
        steps: In their order: a step's needs come before it.
    """
    found: dict[str, frozenset[str]] = {}
    for step in steps:
        found[step.id] = frozenset(step.depends_on).union(
            *(found[need] for need in step.depends_on)
        )
    return found


class Reading:
    """What a plan's steps say, and which steps come before each, directly or not."""

    def __init__(self, plan: TaskIR) -> None:
        self.steps = plan.steps
        self.prompt_words = {step.id: words(step.prompt) for step in plan.steps}
        self.plan_words = frozenset[str]().union(*self.prompt_words.values())
        self.before = all_needs(plan.steps)


@dataclass(frozen=True)
class ListCoverage:
    """How a plan covers a list.

    Attributes:
        things: The things that not all steps speak of; 0 where all of them are in one step.
        apart: Those that have steps of their own, as many as the others.
        idle: Needs, as (step, needed), between steps that do the same to different things, where
            the one doesn't name the other's thing.
    """

    things: int = 0
    apart: int = 0
    idle: tuple[tuple[str, str], ...] = ()


def list_coverage(listing: Listing, reading: Reading) -> ListCoverage:
    """Return how a plan covers a list."""
    says = {
        name: {
            n
            for n, thing in enumerate(listing.items)
            if 2 * len(thing & prompt_words) >= len(thing)
        }
        for name, prompt_words in reading.prompt_words.items()
    }
    # A thing belongs to the steps that say it first: what builds on them may say it again.
    owners = [
        frozenset(name for name in saying if not reading.before[name] & saying)
        for n in range(len(listing.items))
        for saying in [frozenset(name for name, things in says.items() if n in things)]
    ]
    every = frozenset[str]().union(*owners)
    # A thing in all the steps is the subject of the plan, not one thing among others.
    things = {n for n, owner in enumerate(owners) if owner != every}
    if len(every) < 2 or len(things) < 2:
        return ListCoverage()
    alone = [n for n in things if _alone(n, owners, says, things, reading.before)]
    counts = Counter(len(owners[n]) for n in alone)
    usual = counts.most_common(1)[0][0] if counts else 0
    apart = [n for n in alone if len(owners[n]) == usual]
    idle = tuple(_idle(apart, owners, says, reading.steps)) if len(apart) > 1 else ()
    return ListCoverage(len(things), len(apart), idle)


def _alone(
    thing: int,
    owners: Sequence[frozenset[str]],
    says: Mapping[str, set[int]],
    things: AbstractSet[int],
    before: Mapping[str, frozenset[str]],
) -> bool:
    """Say whether a thing's steps are about it alone, or work on one earlier thing's outcome."""
    for owner in owners[thing]:
        others = (says[owner] & things) - {thing}
        if len(others) > 1 or not all(owners[other] & before[owner] for other in others):
            return False
    return bool(owners[thing])


def _idle(
    apart: Sequence[int],
    owners: Sequence[frozenset[str]],
    says: Mapping[str, set[int]],
    steps: Sequence[Step],
) -> Iterable[tuple[str, str]]:
    """Find needs between steps that do the same to a thing each and have no word in common."""
    owned = {name: {n for n in apart if name in owners[n]} for name in says}
    verbs = {step.id: step.prompt.split()[0].casefold() for step in steps}
    for step in steps:
        for need in step.depends_on:
            is_parallel = owned[step.id] and owned[need] and verbs[step.id] == verbs[need]
            if is_parallel and not says[step.id] & owned[need]:
                yield step.id, need
