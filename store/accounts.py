"""Accounts of a run's calls, over all of its processes, and its budget. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError

from ..data_types import Count, Finite, Frozen
from ..errors import BudgetExceededError
from ..text import dollars
from .attempt import Usage

__all__ = ["Accounts", "Amount", "Booking", "Budget", "Spending", "admits", "room_for_part"]


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


def room_for_part(budget: Budget, spending: Spending) -> Budget | None:
    """Return the bounds of a part of the run that a run of its own does; None if it has to wait.

    It may use all that is neither spent nor reserved. Where that is less than half of what isn't
    spent, it waits until others have ended: a part with little room would fail for want of it.

    Raises:
        BudgetExceededError: Nothing is left, whatever becomes of the others.
    """
    # A part asks for something at least.
    admits(budget, Spending(spending.spent, Amount(), spending.elapsed_s), Amount(1))
    tokens = usd = seconds = None
    if budget.max_tokens is not None:
        unspent = budget.max_tokens - spending.spent.tokens
        tokens = unspent - spending.reserved.tokens
        if tokens < 1 or 2 * tokens < unspent:
            return None
    if budget.max_usd is not None:
        unspent_usd = budget.max_usd - spending.spent.usd
        if unspent_usd <= 0:
            raise BudgetExceededError(
                f"The run's money is spent: {dollars(spending.spent.usd)} of ${budget.max_usd:g}.",
                "Raise max_usd.",
            )
        usd = unspent_usd - spending.reserved.usd
        if usd <= 0 or 2 * usd < unspent_usd:
            return None
    if budget.timeout_s is not None:
        seconds = budget.timeout_s - spending.elapsed_s
    return Budget(tokens, usd, seconds)


class Booking(Frozen):
    """A line of the accounts: a call's reservation, or what the call took.

    Attributes:
        key: What the call's result is found under; the plan has one too.
        step: Whose call it is.
        is_settled: Whether the call is over.
        tokens: What counts against the run's bounds, with `usd`: what the call took, or all that
            it had reserved where nobody knows.
        usage: What it took, as far as it is known.
        elapsed_s: Seconds that the run had been worked on by then.
    """

    key: str
    step: str = ""
    model: str = ""
    is_settled: bool = False
    tokens: Count = Field(default=0, ge=0)
    usd: Finite = Field(default=0.0, ge=0)
    usage: Usage = Usage()
    elapsed_s: Finite = 0.0

    @property
    def amount(self) -> Amount:
        """What counts against the run's bounds."""
        return Amount(self.tokens, self.usd)


@dataclass(slots=True)
class Accounts:
    """All bookings together.

    A call that was reserved for and never settled is one that its process did not live to see the
    end of: all that was reserved counts, until its result is found after all.

    Attributes:
        elapsed_s: Seconds that the run had been worked on at the last booking.
        usage: What all calls took.
        settled: The last booking of each call that is over, by its key.
        open_bookings: The reservations that were never settled, by their key.
    """

    elapsed_s: float = 0.0
    usage: Usage = field(default_factory=Usage)
    settled: dict[str, Booking] = field(default_factory=dict[str, Booking])
    open_bookings: dict[str, Booking] = field(default_factory=dict[str, Booking])
    _spent: Amount = field(default_factory=Amount)

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Accounts:
        """Return the accounts of an earlier process; what is not a booking is passed over."""
        accounts = cls()
        for line in lines:
            try:
                accounts.book(Booking.model_validate(line))
            except ValidationError:
                continue
        return accounts

    @property
    def spent(self) -> Amount:
        """What has gone, the reservations that were never settled among it."""
        return sum((open_.amount for open_ in self.open_bookings.values()), self._spent)

    def book(self, booking: Booking) -> None:
        """Take a booking."""
        if booking.is_settled:
            self.open_bookings.pop(booking.key, None)
            self._spent += booking.amount
            self.usage += booking.usage
            self.settled[booking.key] = booking
        else:
            self.give_up(booking.key)
            self.open_bookings[booking.key] = booking
        self.elapsed_s = max(self.elapsed_s, booking.elapsed_s)

    def give_up(self, key: str) -> None:
        """Count a reservation as spent: the call is made once more, and nothing will settle it."""
        if open_ := self.open_bookings.pop(key, None):
            self._spent += open_.amount
