"""How often a step is done, and by whom it is looked at, in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..text import one_line, plural
from .call import call_words
from .compile import CompiledStep
from .conditions import describe_condition
from .program import ForEach, Repeat

__all__ = ["program_words"]


_SHOWN = 80


def program_words(step: CompiledStep, most: int = _SHOWN) -> tuple[str, ...]:
    """Say in short lines what a plan says of a step beside its agent and prompt.

    They stand in the order in which a run looks at them: `if S1 /kind is bug`, `for each of S1
    /papers, at most 50`. There are none for a step that is done once, by its agent alone.

    Args:
        step: The step.
        most: Characters of a list that are shown.
    """
    return tuple(_words(step, most))


def _words(step: CompiledStep, most: int) -> Iterator[str]:
    if step.when is not None:
        yield f"if {describe_condition(step.when)}"
    if step.for_each is not None:
        yield _items(step.for_each, most)
    if step.repeat is not None:
        yield _rounds(step.repeat)
    if step.procedure:
        yield one_line(step.procedure, most)
    if step.plan:
        names = [inner.id for inner in step.plan]
        span = ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]}"
        yield f"a plan of {plural(len(names), 'step')} inside: {span}; {step.final} has its output"
    if step.pool:
        yield f"on the work pool {step.pool}"
    if step.collect is not None:
        yield f"joined without a model: {step.collect}"
    yield from _calls(step, most)
    if (best_of := step.best_of) is not None:
        judge = f"{best_of.judge.agent} chooses" if best_of.judge else "the gates choose"
        yield f"best of {best_of.samples} samples, {judge}"
    if (review := step.review) is not None:
        votes = plural(review.votes, "vote")
        yield f"reviewed by {review.reviewer.agent}: {review.needed} of {votes} have to accept"


def _calls(step: CompiledStep, most: int) -> Iterator[str]:
    if step.call is not None:
        yield f"a call without a model: {call_words(step.call, most)}"
    if step.undo is not None:
        yield f"undone by {call_words(step.undo, most)}"


def _items(for_each: ForEach, most: int) -> str:
    items = for_each.items
    if isinstance(items, str):
        at = f" {for_each.at}" if for_each.at else ""
        source = one_line(f"{items}{at}", most)
        words = f"for each of {source}, at most {for_each.max_items:,}"
    else:
        listed = one_line(json.dumps(list(items), ensure_ascii=False), most)
        words = f"for each of {plural(len(items), 'item')}: {listed}"
    if for_each.where is not None:
        words += f", where {describe_condition(for_each.where)}"
    if for_each.key:
        words += f", once for each {for_each.key}"
    if for_each.too_many != "fail":
        words += {"first": ", the first ones", "ask": ", a person decides about more"}[
            for_each.too_many
        ]
    if (least := for_each.at_least) is not None:
        enough = f"{least:.0%}" if least < 1 else f"{least:g}"
        words += f"; {enough} have to succeed"
    return words


def _rounds(repeat: Repeat) -> str:
    end = (
        "a round finds nothing new"
        if repeat.until == "no_new_items"
        else describe_condition(repeat.until)
    )
    words = f"again until {end}, at most {plural(repeat.max_rounds, 'round')}"
    return words if repeat.at_end == "fail" else f"{words}, then what there is counts"
