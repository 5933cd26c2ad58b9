"""Who may still spend what: asked before each launch, told after each end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..tasks.assignment import Assignment, prompt_of
from .budget import Budget, Spending, admits, estimate_tokens

__all__ = ["Ledger"]


@dataclass(slots=True)
class Ledger:
    """A run's accounts. `spent` starts with what planning took, in tokens."""

    budget: Budget
    started_at: float
    spent: int = 0
    clock: Callable[[], float] = time.time
    _reserved: dict[str, int] = field(default_factory=dict[str, int])
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, assignment: Assignment) -> Assignment:
        """Return the assignment, cut to the run's time, once the run can afford it.

        What only others' reservations stand in the way of waits until one of them is settled.

        Raises:
            BudgetExceededError: It could exceed a bound even then; the message has the figures.
        """
        prompt = assignment.instructions + prompt_of(assignment)
        needed = estimate_tokens(prompt, assignment.max_output_tokens)
        while not admits(self.budget, self._spending(), needed):
            self._settled.clear()
            await self._settled.wait()
        self._reserved[assignment.key] = needed
        if self.budget.timeout_s is None:
            return assignment
        left = self.budget.timeout_s - self._spending().elapsed_s
        return assignment.model_copy(update={"timeout_s": min(assignment.timeout_s, left)})

    def settle(self, key: str, tokens: int | None) -> None:
        """Book what an attempt took; None, not known, books all it had reserved."""
        reserved = self._reserved.pop(key)
        self.spent += reserved if tokens is None else tokens
        self._settled.set()

    def _spending(self) -> Spending:
        elapsed = self.clock() - self.started_at
        return Spending(self.spent, sum(self._reserved.values()), elapsed)
