"""What a run may still spend; asked before each launch. Pure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import BudgetExceededError
from ..tasks.subagent.request import SubagentRequest, prompt_of

__all__ = ["BYTES_PER_TOKEN", "Budget", "Ledger", "Spending", "admits", "estimate_tokens"]


BYTES_PER_TOKEN = 3.0
"""Bytes of a prompt a token covers, on the low side so that estimates err upwards in any script."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of a whole run; None is unbounded."""

    max_tokens: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What has gone: tokens of ended calls, tokens running ones reserve, seconds since start."""

    tokens: int = 0
    reserved: int = 0
    elapsed_s: float = 0.0


def estimate_tokens(prompt: str, max_output_tokens: int) -> int:
    """Return the tokens a call may take: its prompt's, estimated, and its output's limit."""
    return int(len(prompt.encode()) / BYTES_PER_TOKEN) + 1 + max_output_tokens


def admits(budget: Budget, spending: Spending, needed_tokens: int) -> bool:
    """Say whether a launch may go ahead now; False if it may once running ones have ended.

    Raises:
        BudgetExceededError: It could exceed a bound whenever it starts; the message says by what.
    """
    if budget.timeout_s is not None and spending.elapsed_s >= budget.timeout_s:
        raise BudgetExceededError(
            f"The run's time is spent: {spending.elapsed_s:.1f} s of {budget.timeout_s:g} s.",
            "Raise timeout_s.",
        )
    if budget.max_tokens is None:
        return True
    if spending.tokens + needed_tokens > budget.max_tokens:
        raise BudgetExceededError(
            f"The run's tokens don't suffice: {spending.tokens} spent and up to {needed_tokens} "
            f"needed are more than {budget.max_tokens}.",
            "Raise max_tokens or lower max_output_tokens.",
        )
    return spending.tokens + spending.reserved + needed_tokens <= budget.max_tokens


@dataclass(slots=True)
class Ledger:
    """A run's accounts. `spent` starts with what planning took, in tokens."""

    budget: Budget
    started_at: float
    spent: int = 0
    clock: Callable[[], float] = time.time
    _reserved: dict[str, int] = field(default_factory=dict[str, int])
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, request: SubagentRequest) -> SubagentRequest:
        """Return the request, cut to the run's time, once the run can afford it.

        What only others' reservations stand in the way of waits until one of them is settled.

        Raises:
            BudgetExceededError: It could exceed a bound even then; the message has the figures.
        """
        prompt = request.instructions + prompt_of(request)
        needed = estimate_tokens(prompt, request.max_output_tokens)
        while not admits(self.budget, self._spending(), needed):
            self._settled.clear()
            await self._settled.wait()
        self._reserved[request.key] = needed
        if self.budget.timeout_s is None:
            return request
        left = self.budget.timeout_s - self._spending().elapsed_s
        return request.model_copy(update={"timeout_s": min(request.timeout_s, left)})

    def settle(self, key: str, tokens: int | None) -> None:
        """Book what an attempt took; None, not known, books all it had reserved."""
        reserved = self._reserved.pop(key)
        self.spent += reserved if tokens is None else tokens
        self._settled.set()

    def _spending(self) -> Spending:
        elapsed = self.clock() - self.started_at
        return Spending(self.spent, sum(self._reserved.values()), elapsed)
