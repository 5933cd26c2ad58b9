"""What a run may spend, and whether a launch keeps to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import BudgetExceededError
from ...text import dollars

__all__ = ["Amount", "Budget", "Spending", "admits"]


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
            f"The run's money doesn't suffice: {dollars(spending.spent.usd)} spent and up to "
            f"{dollars(needed.usd)} needed are more than ${budget.max_usd:g}.",
            "Raise max_usd, lower max_output_tokens, or use a cheaper model.",
        )
    now = at_worst + spending.reserved
    fits_tokens = budget.max_tokens is None or now.tokens <= budget.max_tokens
    return fits_tokens and (budget.max_usd is None or now.usd <= budget.max_usd)
