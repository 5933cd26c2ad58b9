"""What a run may still spend; asked before each launch. Pure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...errors import BudgetExceededError
from ...pricing import Price
from ...result import Usage
from ...tasks.subagent.request import SubagentRequest, prompt_of
from ...tasks.subagent.text_budget import tokens_of

__all__ = ["LEAST_ROOM", "MOST_ROOM", "Amount", "Budget", "Ledger", "Spending", "admits"]

LEAST_ROOM, MOST_ROOM = 256, 8192
"""Tokens of an answer that a bounded run reserves where nobody bounds the answer: as many as are
left, within these two."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of a whole run; None is unbounded."""

    max_tokens: int | None = None
    max_usd: float | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens, and what they cost in US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        """Return both together."""
        return Amount(self.tokens + other.tokens, self.usd + other.usd)


@dataclass(frozen=True, slots=True)
class Spending:
    """What has gone: what ended calls took, what running ones reserve, seconds since start."""

    spent: Amount = Amount()
    reserved: Amount = Amount()
    elapsed_s: float = 0.0


def admits(budget: Budget, spending: Spending, needed: Amount) -> bool:
    """Say whether a launch may go ahead now; False if it may once running ones have ended.

    Raises:
        BudgetExceededError: It could exceed a bound whenever it starts; the message says by what.
    """
    if budget.timeout_s is not None and spending.elapsed_s >= budget.timeout_s:
        raise BudgetExceededError(
            f"The run's time is spent: {spending.elapsed_s:.1f} s of {budget.timeout_s:g} s.",
            "Raise timeout_s.",
        )
    at_worst = spending.spent + needed
    if budget.max_tokens is not None and at_worst.tokens > budget.max_tokens:
        raise BudgetExceededError(
            f"The run's tokens don't suffice: {spending.spent.tokens} spent and up to "
            f"{needed.tokens} needed are more than {budget.max_tokens}.",
            "Raise max_tokens or lower max_output_tokens.",
        )
    if budget.max_usd is not None and at_worst.usd > budget.max_usd:
        raise BudgetExceededError(
            f"The run's money doesn't suffice: ${spending.spent.usd:.4f} spent and up to "
            f"${needed.usd:.4f} needed are more than ${budget.max_usd:g}.",
            "Raise max_usd, lower max_output_tokens, or use a cheaper model.",
        )
    now = at_worst + spending.reserved
    fits_tokens = budget.max_tokens is None or now.tokens <= budget.max_tokens
    return fits_tokens and (budget.max_usd is None or now.usd <= budget.max_usd)


@dataclass(slots=True)
class Ledger:
    """A run's accounts.

    Attributes:
        spent: Starts with what planning took.
        prices: What a token of each model costs, by the model's name.
    """

    budget: Budget
    started_at: float
    spent: Amount = Amount()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    clock: Callable[[], float] = time.time
    _reserved: dict[str, tuple[str, Amount]] = field(default_factory=dict[str, tuple[str, Amount]])
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, request: SubagentRequest) -> SubagentRequest:
        """Return the request, cut to the run's time and budget, once the run can afford it.

        What only others' reservations stand in the way of waits until one of them is settled.

        Raises:
            BudgetExceededError: It could exceed a bound even then; the message has the figures.
        """
        prompt = tokens_of(request.instructions + prompt_of(request) + request.begun)
        while True:
            room = request.max_output_tokens or self._room(prompt, request.model)
            needed = self._amount(request.model, prompt, room or 0)
            if admits(self.budget, self._spending(), needed):
                break
            self._settled.clear()
            await self._settled.wait()
        self._reserved[request.key] = (request.model, needed)
        request = request.model_copy(update={"max_output_tokens": room})
        if self.budget.timeout_s is None:
            return request
        left = self.budget.timeout_s - self._spending().elapsed_s
        return request.model_copy(update={"timeout_s": min(request.timeout_s, left)})

    def settle(self, key: str, usage: Usage | None) -> None:
        """Book what an attempt took; None, not known, books all it had reserved."""
        model, reserved = self._reserved.pop(key)
        self.spent += reserved if usage is None else self._taken(model, usage)
        self._settled.set()

    @property
    def is_over(self) -> bool:
        """Whether the run's time is spent."""
        limit = self.budget.timeout_s
        return limit is not None and self._spending().elapsed_s >= limit

    def _room(self, prompt: int, model: str) -> int | None:
        """Tokens of an answer that nobody bounds; None where no bound of the run needs any."""
        if self.budget.max_tokens is None and self.budget.max_usd is None:
            return None
        left = float(MOST_ROOM)
        if self.budget.max_tokens is not None:
            left = min(left, self.budget.max_tokens - self.spent.tokens - prompt)
        price = self.prices.get(model)
        if self.budget.max_usd is not None and price is not None and price.output_usd:
            usd = self.budget.max_usd - self.spent.usd - price.of(prompt, 0)
            left = min(left, usd / price.output_usd)
        return max(LEAST_ROOM, int(left))

    def _amount(self, model: str, input_tokens: int, output_tokens: int) -> Amount:
        price = self.prices.get(model)
        usd = price.of(input_tokens, output_tokens) if price else 0.0
        return Amount(input_tokens + output_tokens, usd)

    def _taken(self, model: str, usage: Usage) -> Amount:
        counted = self._amount(model, usage.input_tokens, usage.output_tokens)
        return counted if usage.cost_usd is None else Amount(usage.tokens, usage.cost_usd)

    def _spending(self) -> Spending:
        elapsed = self.clock() - self.started_at
        reserved = sum((amount for _, amount in self._reserved.values()), Amount())
        return Spending(self.spent, reserved, elapsed)
