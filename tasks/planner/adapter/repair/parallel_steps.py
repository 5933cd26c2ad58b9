"""Steps of a plan that do the same to different things: `Describe tea`, `Describe coffee`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .....task_ir import Step
from ..vocabulary import words

__all__ = ["Branch", "ParallelGroup", "parallel_groups"]


@dataclass(frozen=True)
class Branch:
    """A step of a group, and the words in which it differs from the others.

    Attributes:
        own: Those words as they stand.
    """

    step: Step
    own: str

    @property
    def about(self) -> frozenset[str]:
        """What its own words are about."""
        return words(self.own)


@dataclass(frozen=True)
class ParallelGroup:
    """At least two steps that say the same but for words of their own; none needs another."""

    branches: tuple[Branch, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The steps' ids, in order."""
        return tuple(branch.step.id for branch in self.branches)


def parallel_groups(steps: Sequence[Step]) -> tuple[ParallelGroup, ...]:
    """Return every group of parallel steps of a plan; a step is in one at the most."""
    found: list[ParallelGroup] = []
    taken: set[str] = set()
    for place, step in enumerate(steps):
        if step.id in taken:
            continue
        members = [step]
        for other in steps[place + 1 :]:
            if other.id not in taken and _belongs(other, members):
                members.append(other)
        if len(members) > 1:
            found.append(_group(members))
            taken.update(member.id for member in members)
    return tuple(found)


def _belongs(step: Step, members: Sequence[Step]) -> bool:
    if any(len(step.depends_on) != len(member.depends_on) for member in members):
        return False
    if any(step.id in member.depends_on or member.id in step.depends_on for member in members):
        return False
    prompts = [member.prompt.split() for member in (*members, step)]
    first, last = _shared(prompts)
    longest = max(len(prompt) - first - last for prompt in prompts)
    shortest = min(len(prompt) - first - last for prompt in prompts)
    return first > 0 and shortest > 0 and longest <= max(first + last, 2)


def _group(members: Sequence[Step]) -> ParallelGroup:
    prompts = [member.prompt.split() for member in members]
    first, last = _shared(prompts)
    branches = tuple(
        Branch(step, " ".join(prompt[first : len(prompt) - last]))
        for step, prompt in zip(members, prompts, strict=True)
    )
    return ParallelGroup(branches)


def _shared(prompts: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many first and how many last words all have in common."""
    least = min(map(len, prompts))
    first = _common(prompts, range(least))
    # Branches differ in something: at least one word stays each's own.
    last = _common(prompts, range(-1, -1 - max(0, least - first - 1), -1))
    return first, last


def _common(prompts: Sequence[Sequence[str]], places: Iterable[int]) -> int:
    count = 0
    for place in places:
        if len({prompt[place] for prompt in prompts}) > 1:
            break
        count += 1
    return count
