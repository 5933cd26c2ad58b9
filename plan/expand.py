"""Members of a step: instances for its items, rounds, the steps of its plan. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from .compile import CompiledStep
from .conditions import Condition, with_steps
from .ids import inner_id, instance_id, nested_instance_id, parse_id, round_id
from .items import Item, digest_of, full_text
from .program import ForEach
from .templates import fields_in, written

__all__ = ["followers_of", "inner_steps", "instances_of", "needed_of", "round_of"]


def instances_of(step: CompiledStep, items: Sequence[Item]) -> tuple[CompiledStep, ...]:
    """Return a step's instances, one for each item, in the items' order."""
    is_nested = bool(parse_id(step.id)[-1].items)
    make = nested_instance_id if is_nested else instance_id
    return tuple(
        _finished(
            _instance(step, make(step.id, number), item, number),
            quotes_item=True,
        )
        for number, item in enumerate(items, 1)
    )


def followers_of(step: CompiledStep, followed: Sequence[CompiledStep]) -> tuple[CompiledStep, ...]:
    """Return the instances of a step that follows another one item by item.

    An instance reads the output of the one that it follows. Where that output is a list itself
    (`at`), or the one that it follows is for each itself, the instance is for each in its turn.
    Else `where` is the instance's own condition, on the output that it reads.

    Args:
        followed: The instances of the other step.
    """
    for_each = step.for_each or ForEach(items=())
    members: list[CompiledStep] = []
    for each in followed:
        numbers = parse_id(each.id)[-1].items
        own = _written_id(step.id, numbers)
        member = _instance(step, own, each.about, numbers[-1])
        if each.for_each is not None or for_each.at is not None:
            follows = each.id if each.for_each is not None else ""
            members.append(
                replace(
                    member,
                    label=each.label,
                    for_each=for_each.model_copy(update={"items": each.id}),
                    source=each.id,
                    follows=follows,
                    waits_for=() if follows else (each.id,),
                )
            )
        else:
            where = for_each.where
            when = with_steps(where, lambda _, step=each.id: step) if where else None
            member = replace(member, upstream=(each.id, *step.upstream), when=when)
            members.append(_finished(member, quotes_item=False))
    return tuple(members)


def round_of(step: CompiledStep, number: int) -> CompiledStep:
    """Return a round of a step; from the second on it reads the one before, too."""
    before = (round_id(step.id, number - 1),) if number > 1 else ()
    return _finished(
        replace(
            step,
            id=round_id(step.id, number),
            repeat=None,
            when=None,
            waits_for=(),
            optional=False,
            upstream=(*step.upstream, *before),
            round=number,
        ),
        quotes_item=True,
    )


def inner_steps(step: CompiledStep) -> tuple[CompiledStep, ...]:
    """Return the steps of the plan inside a step; those without a need read what it reads."""
    return tuple(_inner(step, inner) for inner in step.plan)


def needed_of(for_each: ForEach, count: int) -> int:
    """Return how many of so many instances have to succeed."""
    if for_each.at_least is None:
        return count
    if for_each.at_least < 1:
        # 0.9 of 10 are 9, although 0.9 * 10 may be a little more.
        return math.ceil(round(for_each.at_least * count, 9))
    return min(count, math.ceil(for_each.at_least))


def _instance(step: CompiledStep, own: str, item: Item | None, number: int) -> CompiledStep:
    return replace(
        step,
        id=own,
        for_each=None,
        when=None,
        source="",
        follows="",
        waits_for=(),
        # Whether the plan can do without the step says nothing of its instances.
        optional=False,
        about=item,
        index=number,
    )


def _written_id(step: str, numbers: Sequence[int]) -> str:
    own = parse_id(step)[-1].items
    if not own:
        return instance_id(step, *numbers)
    for number in numbers[len(own) :]:
        step = nested_instance_id(step, number)
    return step


def _inner(outer: CompiledStep, inner: CompiledStep) -> CompiledStep:
    def within(condition: Condition) -> str | None:
        return inner_id(outer.id, condition.step) if condition.step else None

    own = inner_id(outer.id, inner.id)
    for_each = inner.for_each
    if for_each is not None and inner.source:
        for_each = for_each.model_copy(update={"items": inner_id(outer.id, inner.source)})
    member = replace(
        inner,
        id=own,
        upstream=tuple(inner_id(outer.id, name) for name in inner.upstream) or outer.upstream,
        inputs=outer.inputs if inner.inputs is None and not inner.upstream else inner.inputs,
        waits_for=tuple(inner_id(outer.id, name) for name in inner.waits_for),
        source=inner_id(outer.id, inner.source) if inner.source else "",
        follows=inner_id(outer.id, inner.follows) if inner.follows else "",
        when=with_steps(inner.when, within) if inner.when else None,
        for_each=for_each,
        about=outer.about,
        index=outer.index,
        round=outer.round,
        priority=inner.priority,
    )
    return _finished(member, quotes_item=not inner.upstream)


def _finished(step: CompiledStep, *, quotes_item: bool) -> CompiledStep:
    """Write the prompt of a step that is done as it is; one with members keeps its template.

    Args:
        quotes_item: Whether the whole item is read where the prompt names no part of it.
    """
    item = step.about
    if item is not None:
        step = replace(step, label=item.label, digest=digest_of(item))
        if item.source and quotes_item:
            step = replace(step, inputs=tuple(dict.fromkeys((item.source, *(step.inputs or ())))))
        elif not item.trusted and step.inputs is None:
            # What has its items from somewhere doesn't read the plan's inputs as one without needs.
            step = replace(step, inputs=())
    if step.is_group or step.collect or step.call:
        return step
    prompt = written(step.prompt, item, step.index, step.round)
    is_quoted = prompt.quotes_item and (quotes_item or bool(fields_in(step.prompt)))
    text = full_text(item) if item is not None and is_quoted else ""
    return replace(step, prompt=prompt.prompt, item=text)
