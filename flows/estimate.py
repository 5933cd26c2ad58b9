"""The estimate of a plan: the tokens and the money that it comes to, at least and at most. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from ..inputs.pictures import reading_tokens
from ..models.names import FREE, Price
from ..plan.bounds import Range, Size, size_at, sizes
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.ids import parse_id
from ..plan.items import count_items, names_matching
from ..plan.task_ir import TaskIR
from ..plan.templates import fixed_text
from ..store.accounts import Amount, Budget
from ..tasks.subagent.request import tokens_of
from ..text import dollars
from .options import SwarmOptions, TierOptions

__all__ = [
    "TYPICAL_ANSWER",
    "Estimate",
    "estimate",
    "is_varied",
    "least_of_members",
    "least_of_plan",
    "shortage",
    "sizes_of",
]


TYPICAL_ANSWER = 700
"""Tokens of an answer where nobody bounds it: about 500 words."""
_TYPICAL_VERDICT = 150
"""Tokens that a reviewer or a judge answers with, and about as many as they are asked with."""


PriceOf = Callable[[str], Price | None]
"""Returns the price of a model by its name; None where it isn't known."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens that are read and written, and their price in US dollars; None if it isn't known.

    Tokens are no whole numbers while they are added up: items share a list's.
    """

    input_tokens: float = 0
    output_tokens: float = 0
    usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return round(self.input_tokens + self.output_tokens)

    def __add__(self, other: Estimate) -> Estimate:
        """Return what both come to."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Estimate(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens, usd
        )

    def times(self, count: int) -> Estimate:
        """Return what it comes to so many times."""
        if not count:
            return Estimate()
        usd = None if self.usd is None else self.usd * count
        return Estimate(self.input_tokens * count, self.output_tokens * count, usd)


def sizes_of(plan: TaskIR, options: SwarmOptions) -> dict[str, Size]:
    """Return what each step of a plan comes to in a run; the items that inputs have are counted."""
    return sizes(plan, options.max_attempts, partial(count_items, plan.inputs))


def is_varied(plan: CompiledPlan) -> bool:
    """Say whether what a plan comes to depends on more than on the attempts of its steps."""
    return any(
        step.is_group or step.when is not None or step.review or step.best_of for step in plan.steps
    )


def estimate(
    plan: CompiledPlan,
    found: Mapping[str, Size],
    options: SwarmOptions,
    price_of: PriceOf,
) -> tuple[Estimate, Estimate]:
    """Return what a plan comes to at least and at most, with an answer of typical length each.

    At least is: each attempt succeeds, and conditions, lists and rounds take as little as they may.
    At most is: all take as much as they may, on the dearest model that a step may climb to.

    Args:
        plan: What would run.
        found: The sizes of its steps.
        options: Which models the tiers have, and what bounds them.
        price_of: The price of a model by its name.
    """
    least = _Estimator(plan, options, price_of, _least)
    most = _Estimator(plan, options, price_of, _most)
    return least.whole(found), most.whole(found)


def least_of_plan(
    plan: CompiledPlan,
    found: Mapping[str, Size],
    options: SwarmOptions,
    price_of: PriceOf,
    done: Collection[str] = (),
) -> Amount:
    """Return what a plan reads at the least: what is known of it before it runs.

    Args:
        plan: What would run.
        found: The sizes of its steps.
        options: Which models the tiers have, and what bounds them.
        price_of: The price of a model by its name; one that isn't known counts as nothing.
        done: Ids of steps that are finished or under way; they aren't counted.
    """
    certain = _certain(plan, options, price_of)
    steps = [step for step in plan.steps if step.id not in done]
    return _amount(certain.level(steps, found, certain.outermost())[0])


def least_of_members(
    members: Iterable[CompiledStep],
    plan: CompiledPlan,
    found: Mapping[str, Size],
    options: SwarmOptions,
    price_of: PriceOf,
) -> Amount:
    """Return what members read at the least; the arguments are those of `least_of_plan`."""
    certain = _certain(plan, options, price_of)
    outer, taken = certain.outermost(), Estimate()
    for member in members:
        size, level = size_at(found, member.id), parse_id(member.id)[-1]
        if size is None or member.when or member.for_each:
            continue
        # What conditions say of a step is decided before its instances and rounds.
        if level.items or level.round or not size.may_skip:
            taken += certain.once(member, size, certain.reads_of(member, 0, outer))[0]
    return _amount(taken)


def shortage(budget: Budget, spent: Amount, needed: Amount) -> str:
    """Say what is needed and what is left, where it doesn't suffice; "" where it does."""
    if budget.max_tokens is not None and spent.tokens + needed.tokens > budget.max_tokens:
        left = max(0, budget.max_tokens - spent.tokens)
        return f"read {needed.tokens:,} tokens at least, and {left:,} are left"
    if budget.max_usd is not None and spent.usd + needed.usd > budget.max_usd:
        left_usd = max(0.0, budget.max_usd - spent.usd)
        return f"cost {dollars(needed.usd)} at least, and {dollars(left_usd)} is left"
    return ""


def _least(count: Range) -> int:
    return count.least


def _most(count: Range) -> int:
    return count.most


def _amount(taken: Estimate) -> Amount:
    return Amount(taken.tokens, taken.usd or 0.0)


def _certain(plan: CompiledPlan, options: SwarmOptions, price_of: PriceOf) -> _Estimator:
    """Return what counts as much as is certain: texts of the plan, and no answers."""
    return _Estimator(
        plan, options, lambda name: price_of(name) or FREE, _least, answer=0, verdict=0
    )


@dataclass(frozen=True, slots=True)
class _Reads:
    """Tokens that a step reads beside its prompt: outputs with its item, and inputs."""

    outputs: float = 0
    inputs: float = 0


@dataclass(frozen=True, slots=True)
class _Estimator:
    """Adds up what steps take, each count by its least or its most.

    Attributes:
        pick: Returns one end of a range.
        answer: Tokens of an answer; 0 if nothing is known of answers.
        verdict: Tokens of a reviewer's answer.
    """

    plan: CompiledPlan
    options: SwarmOptions
    price_of: PriceOf
    pick: Callable[[Range], int]
    answer: int = TYPICAL_ANSWER
    verdict: int = _TYPICAL_VERDICT

    def whole(self, sizes: Mapping[str, Size]) -> Estimate:
        """Return what the plan takes, with the answer that the orchestrator writes."""
        taken, answers = self.level(self.plan.steps, sizes, self.outermost())
        read = {name for step in self.plan.steps for name in (*step.upstream, step.source)}
        ends = [tokens for name, tokens in answers.items() if name not in read]
        if self.plan.final_step is None and len(ends) > 1:
            taken += self._calls(1, self.options.model_of("orchestrator"), sum(ends), self.answer)
        return taken

    def outermost(self) -> _Reads:
        """Return what stands around the plan's own steps: its inputs."""
        return _Reads(inputs=self._inputs(name for name, _ in self.plan.inputs))

    def level(
        self, steps: Sequence[CompiledStep], sizes: Mapping[str, Size], outer: _Reads
    ) -> tuple[Estimate, dict[str, float]]:
        """Return what steps side by side take, and the tokens of each one's output.

        Args:
            steps: The steps.
            sizes: Their sizes, by their ids.
            outer: What the step around them reads.
        """
        taken, answers = Estimate(), dict[str, float]()
        for step in steps:
            size = sizes[step.id]
            outputs = sum(answers.get(name, 0) for name in step.upstream)
            # Steps inside that need nothing read what the step around them does.
            outputs = outputs if step.upstream else outer.outputs
            outputs += self._item(step, size, answers)
            count, rounds = self.pick(size.count), self.pick(size.rounds)
            reads = self.reads_of(step, outputs, outer)
            once, answer = self.once(step, size, reads)
            if rounds > 1:
                # From the second on a round reads the one before.
                before = answer * (rounds - 1) / rounds
                once, answer = self.once(step, size, replace(reads, outputs=outputs + before))
            taken += once.times(count * rounds)
            gathered = rounds if step.repeat and step.repeat.until == "no_new_items" else 1
            answers[step.id] = answer * gathered * count
        return taken, answers

    def reads_of(self, step: CompiledStep, outputs: float, outer: _Reads) -> _Reads:
        """Return what a step reads, with its inputs: its own, or those around it."""
        is_found = step.for_each is not None and isinstance(step.for_each.items, str)
        if step.inputs is not None:
            return _Reads(outputs, self._inputs(step.inputs))
        return _Reads(outputs, 0 if step.upstream or is_found else outer.inputs)

    def once(self, step: CompiledStep, size: Size, reads: _Reads) -> tuple[Estimate, float]:
        """Return what a step takes each time that it is done, and the tokens of its output then."""
        taken, answer = Estimate(), self._answer(step)
        if step.plan:
            taken, answers = self.level(step.plan, size.inner, reads)
            answer = answers[step.final]
        elif step.collect is not None:
            answer = reads.outputs
        return taken + self._requests(step, size, reads, answer), answer

    def _requests(self, step: CompiledStep, size: Size, reads: _Reads, answer: float) -> Estimate:
        own = size.own
        answers = self.pick(own.answers)
        again = min(answers, max(0, self.pick(own.attempts) - 1))
        read = self._read(step, reads)
        named = self.options.named(step.model) if step.model else ""
        model = named or self.options.model_of(step.tier)
        taken = self._calls(answers - again, model, read, answer)
        if again:
            # What wasn't accepted, and why, is read by the next attempt.
            ladder = self.options.ladder(step.max_tier, self.plan.task_type, step.tier)
            models = [model, *map(self.options.model_of, ladder[1:])]
            tried = [self._calls(again, each, read + answer, answer) for each in models]
            taken += max(tried, key=lambda each: float("inf") if each.usd is None else each.usd)
        asked = read + self.verdict
        if step.review is not None:
            reviewer = self.options.model_of(step.review.reviewer.tier)
            votes = self.pick(own.votes)
            taken += self._calls(votes, reviewer, asked + answer, self.verdict)
        if step.best_of is not None and step.best_of.judge is not None:
            judge = self.options.model_of(step.best_of.judge.tier)
            samples = step.best_of.samples * answer
            taken += self._calls(self.pick(own.judgements), judge, asked + samples, self.verdict)
        return taken

    def _calls(self, count: int, model: str, read: float, written: float) -> Estimate:
        price = self.price_of(model)
        usd = price.input_usd * read + price.output_usd * written if price else None
        return Estimate(read, written, usd).times(count)

    def _answer(self, step: CompiledStep) -> float:
        most = (
            step.settings.max_output_tokens
            or self._tier(step).max_output_tokens
            or self.options.max_output_tokens
        )
        return min(most or self.answer, self.answer)

    def _read(self, step: CompiledStep, reads: _Reads) -> float:
        """Return the tokens that an attempt reads: its prompt, and texts as there is room."""
        room = (
            step.settings.max_input_tokens
            or self._tier(step).max_input_tokens
            or self.options.max_input_tokens
        )
        texts = reads.outputs + reads.inputs + tokens_of(step.item)
        prompt = step.prompt if self.answer else fixed_text(step.prompt)
        own = sum(map(tokens_of, (step.instructions, prompt, step.lesson)))
        return own + (min(texts, room) if room else texts)

    def _tier(self, step: CompiledStep) -> TierOptions:
        return self.options.tiers.get(step.tier, TierOptions())

    def _item(self, step: CompiledStep, size: Size, answers: Mapping[str, float]) -> float:
        """Return the tokens of an item: all share those of what they are found in."""
        count = self.pick(reduce(Range.__mul__, size.items, Range(1, 1)))
        if step.for_each is None or not count:
            return 0
        items = step.for_each.items
        texts = dict(self.plan.inputs)
        if not isinstance(items, str):
            tokens = tokens_of(json.dumps(items)) if self.answer else 0
        elif step.source:
            tokens = answers.get(step.source, 0)
        elif items in texts:
            # A prompt may name a part of a row alone.
            tokens = self._inputs([items]) if self.answer else 0
        else:
            tokens = self._inputs(names_matching(items, texts))
        return tokens / count

    def _inputs(self, names: Iterable[str]) -> int:
        texts = dict(self.plan.inputs)
        return sum(reading_tokens(texts[name]) for name in names)
