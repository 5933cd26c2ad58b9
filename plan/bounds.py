"""The least and the most that a plan can come to, before any of it runs. Pure.

Items, rounds, attempts, votes and samples multiply through all levels of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from ..text import plural
from ..untrusted.json_text import STEP_ID
from .ids import parse_id
from .program import ForEach
from .task_ir import Step, TaskIR, final_step

__all__ = [
    "MAX_INSTANCES",
    "MOST_COUNTED",
    "Extent",
    "ItemCount",
    "Range",
    "Size",
    "extent_problem",
    "extents",
    "size_at",
    "sizes",
    "total",
]


MAX_INSTANCES = 10_000
"""The most instances that a plan may come to."""
MOST_COUNTED = 10**18
"""Where counting ends: a few lists behind one another would make numbers of any length."""

ItemCount = Callable[[ForEach], int | None]
"""Says how many items a step is done for, after `where` and `key`, before `max_items`; None where
that isn't known before the run."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number of which the least and the most are known; `MOST_COUNTED` stands for any more."""

    least: int = 0
    most: int = 0

    def __add__(self, other: Range) -> Range:
        """Return the range of the sum of two numbers."""
        return _counted(self.least + other.least, self.most + other.most)

    def __mul__(self, other: Range) -> Range:
        """Return the range of the product of two numbers."""
        return _counted(self.least * other.least, self.most * other.most)

    def __str__(self) -> str:
        """Write it for people: 3, or 3 to 750."""
        most = f"{self.most:,}"
        return most if self.least == self.most else f"{self.least:,} to {most}"


def _counted(least: int, most: int) -> Range:
    return Range(min(least, MOST_COUNTED), min(most, MOST_COUNTED))


_ONE = Range(1, 1)


@dataclass(frozen=True, slots=True)
class Extent:
    """What a step, or a plan, comes to.

    The least is what it comes to if every attempt succeeds, and conditions, lists and rounds take
    as little as they may.

    Attributes:
        instances: How often a step that has no plan inside is done: once for each item and round.
        attempts: Attempts of all instances. Those that fail for reasons outside the model, and
            those that a person grants, are further ones.
        answers: Calls of the agent's model: one an attempt, and one for each further sample. A call
            that uses tools is one, however many turns it takes.
        judgements: Calls of judges, who choose among samples.
        votes: Calls of reviewers.
    """

    instances: Range = Range()
    attempts: Range = Range()
    answers: Range = Range()
    judgements: Range = Range()
    votes: Range = Range()

    @property
    def requests(self) -> Range:
        """All calls of models but the orchestrator's own, for the plan and the answer."""
        return self.answers + self.judgements + self.votes

    def __add__(self, other: Extent) -> Extent:
        """Return what both come to."""
        return Extent(
            self.instances + other.instances,
            self.attempts + other.attempts,
            self.answers + other.answers,
            self.judgements + other.judgements,
            self.votes + other.votes,
        )

    def times(self, count: Range) -> Extent:
        """Return what it comes to if it is done so many times."""
        return Extent(
            self.instances * count,
            self.attempts * count,
            self.answers * count,
            self.judgements * count,
            self.votes * count,
        )


def extents(plan: TaskIR, max_attempts: int, count: ItemCount | None = None) -> dict[str, Extent]:
    """Return what each step of a plan comes to, by its id; a plan inside a step counts with it.

    A person who is asked about more items than `max_items` may grant more than the most.

    Args:
        plan: The plan.
        max_attempts: Attempts that a step may take where the plan doesn't say.
        count: The numbers of items that are known before the run, such as those of inputs. Where
            it returns None, and where it is left out, a list in the plan is counted, as far as
            `where` and `key` let it be; anything else comes to 0 to `max_items`.
    """
    return {name: size.extent for name, size in sizes(plan, max_attempts, count).items()}


def total(found: Mapping[str, Extent]) -> Extent:
    """Return what all steps together come to."""
    return _sum(found.values())


def extent_problem(plan: TaskIR, count: ItemCount | None = None) -> str:
    """Say why a plan comes to too many instances, for behind the plan; "" if it doesn't.

    Args:
        plan: The plan.
        count: As for `extents`.
    """
    found = sizes(plan, 1, count)
    most = _sum(size.extent for size in found.values()).instances.most
    if most <= MAX_INSTANCES:
        return ""
    largest = sorted(found.items(), key=lambda item: -item[1].extent.instances.most)
    shown = [_product(name, sized) for name, sized in largest[:_SHOWN] if sized.is_many]
    more = sum(sized.is_many for _, sized in largest[_SHOWN:])
    others = [f"and {plural(more, 'more such step')}"] if more else []
    parts = "; ".join([*shown, *others])
    problem = f"can come to {_most(most)} instances, and {MAX_INSTANCES:,} are the most"
    return f"{problem}: {parts}" if parts else problem


_SHOWN = 3
_MOST_FACTORS = 3


@dataclass(frozen=True, slots=True)
class Size:
    """What a step comes to, and the factors of that.

    Attributes:
        extent: All that it comes to each time that the plan around it is done.
        own: What it comes to each time that it is done itself, without the steps inside it.
        count: How often it is done; once for each item, where no condition keeps it from that.
        items: The items that it is done for, one factor a list; none if it isn't for each.
        rounds: The rounds of each item.
        inner: The steps of the plan inside it, by their ids.
        may_skip: Whether conditions can keep it from being done.
    """

    extent: Extent
    own: Extent
    count: Range
    items: tuple[Range, ...]
    rounds: Range
    inner: Mapping[str, Size]
    may_skip: bool

    @property
    def is_many(self) -> bool:
        """Whether it can come to more than one instance."""
        return self.extent.instances.most > 1


def sizes(plan: TaskIR, max_attempts: int, count: ItemCount | None = None) -> dict[str, Size]:
    """Return the sizes of a plan's steps, by their ids; the arguments are those of `extents`."""
    attempts = plan.escalation.max_attempts or max_attempts
    return _sizes_of(plan.steps, Range(1, max(1, attempts)), count or _unknown)


def size_at(found: Mapping[str, Size], step: str) -> Size | None:
    """Return the size of the step that a member's id names, such as that of S2.S1 for S2[7].S1."""
    size: Size | None = None
    for level in parse_id(step):
        if (size := found.get(level.step)) is None:
            return None
        found = size.inner
    return size


def _sum(found: Iterable[Extent]) -> Extent:
    return sum(found, Extent())


def _unknown(_: ForEach) -> None:
    return None


def _sizes_of(steps: Sequence[Step], attempts: Range, count: ItemCount) -> dict[str, Size]:
    found: dict[str, Size] = {}
    for step in steps:
        found[step.id] = _size(step, found, attempts, count)
    return found


def _size(step: Step, earlier: Mapping[str, Size], attempts: Range, count: ItemCount) -> Size:
    inner: dict[str, Size] = {}
    if step.plan is not None:
        inner = _sizes_of(step.plan.steps, attempts, count)
        last = inner.get(step.plan.final_step or final_step(step.plan.steps) or "")
        # The steps inside have attempts, and the step around them has none of its own.
        may_have_no_output = last is None or last.may_skip
        own = _reviews(step, Range(0 if may_have_no_output else 1, 1))
    else:
        samples = _samples(step)
        answers = Range() if step.collect or step.call else attempts + samples
        own = Extent(_ONE, attempts, answers, _judgements(step))
        # A sample that its gates refuse isn't reviewed.
        own += _reviews(step, attempts + Range(0, samples.most))
    rounds = Range(1, step.repeat.max_rounds) if step.repeat is not None else _ONE
    items = _items(step.for_each, earlier, count) if step.for_each is not None else ()
    may_skip = _may_skip(step, earlier)
    done = reduce(Range.__mul__, items, Range(0 if may_skip else 1, 1))
    once = own + _sum(size.extent for size in inner.values())
    return Size(once.times(done * rounds), own, done, items, rounds, inner, may_skip)


def _reviews(step: Step, passed: Range) -> Extent:
    """Return the reviews of so many artifacts."""
    votes = step.review.votes if step.review is not None else 0
    return Extent(votes=Range(votes, votes) * passed)


def _samples(step: Step) -> Range:
    """Return the further requests of a first attempt."""
    more = step.best_of.samples - 1 if step.best_of is not None else 0
    return Range(more, more)


def _judgements(step: Step) -> Range:
    """Return how often samples are judged; one that alone passes needs no judge."""
    return Range(0, int(step.best_of is not None and step.best_of.judge != "gates"))


def _may_skip(step: Step, earlier: Mapping[str, Size]) -> bool:
    """Whether its condition can skip a step, or those of all the steps that it needs."""
    if step.when is not None:
        return True
    needs = [*step.depends_on]
    if step.for_each is not None and (source := _source(step.for_each)) is not None:
        needs.append(source)
    return bool(needs) and all(name in earlier and earlier[name].may_skip for name in needs)


def _source(for_each: ForEach) -> str | None:
    """Return the step that the items come from, if they come from one."""
    name = for_each.items
    return name if isinstance(name, str) and STEP_ID.fullmatch(name) else None


def _items(for_each: ForEach, earlier: Mapping[str, Size], count: ItemCount) -> tuple[Range, ...]:
    source = earlier.get(_source(for_each) or "")
    if source is None or not source.items:
        return (_own_items(for_each, count),)
    # A step that its condition skipped has no items to follow.
    first, *more = source.items
    followed = (first * Range(0 if source.may_skip else 1, 1), *more)
    if for_each.at is not None:
        lists = (*followed, Range(0, for_each.max_items))
        return lists if len(lists) <= _MOST_FACTORS else (reduce(Range.__mul__, lists),)
    if for_each.where is None and not for_each.key:
        return followed
    return tuple(Range(0, each.most) for each in followed)


def _own_items(for_each: ForEach, count: ItemCount) -> Range:
    """Return the number of items of a list, an input, or the output of a step."""
    known = count(for_each)
    if known is not None:
        found = Range(known, known)
    elif isinstance(for_each.items, str):
        return Range(0, for_each.max_items)
    else:
        found = _listed(for_each, for_each.items)
    if found.most <= for_each.max_items:
        return found
    # Too many items may fail before any of them is done, and a person may want all or none.
    least = min(found.least, for_each.max_items) if for_each.too_many == "first" else 0
    most = found.most if for_each.too_many == "ask" else for_each.max_items
    return _counted(least, most)


def _listed(for_each: ForEach, items: Sequence[Any]) -> Range:
    """Return how many items of a list in the plan are taken."""
    if for_each.where is not None:
        return Range(0, len(items))
    if for_each.key:
        return Range(min(1, len(items)), len(items))
    distinct = len({_comparable(item) for item in items})
    nulls = sum(item is None for item in items)
    return Range(distinct, distinct + max(0, nulls - 1))


def _comparable(value: object) -> object:
    """Return what is equal for equal values of JSON; Python takes true for 1."""
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, list | tuple):
        return tuple(map(_comparable, cast("Sequence[object]", value)))
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        return frozenset((name, _comparable(field)) for name, field in fields.items())
    return value


def _product(path: str, sized: Size) -> str:
    """Write what a step's instances are a product of, and what the largest step inside it has."""
    factors = [f"{_most(each.most)} items" for each in sized.items]
    if sized.rounds.most > 1:
        factors.append(f"{sized.rounds.most:,} rounds")
    if sized.inner:
        inside = _sum(each.extent for each in sized.inner.values()).instances.most
        is_plain = not any(each.is_many for each in sized.inner.values())
        factors.append(f"{_most(inside)} {'steps' if is_plain else 'instances'}")
    text = f"{path}: {' × '.join(factors)} = {_most(sized.extent.instances.most)}"
    largest = max(sized.inner.items(), key=lambda item: item[1].extent.instances.most, default=None)
    if largest is None or not largest[1].is_many:
        return text
    return f"{text}, within it {_product(f'{path}.{largest[0]}', largest[1])}"


def _most(count: int) -> str:
    return f"{count:,}" if count < MOST_COUNTED else "over 10^18"
