"""Bounds of a run and its calls, and the remaining budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ..metrics.clock import run_time
from ..models.names import Price, Profile
from ..plan.schedule import ConcurrencyLimits
from ..plan.task_ir import StepSettings, Tier, TierName
from ..store.accounts import (
    Accounts,
    Amount,
    Booking,
    Budget,
    Spending,
    admits,
    room_for_part,
)
from ..store.attempt import Usage
from ..tasks.subagent.request import (
    CallLimits,
    SubagentRequest,
    picture_tokens,
    prompt_of,
    tokens_of,
)
from .options import SwarmOptions, TierOptions

__all__ = [
    "LEAST_ROOM",
    "MOST_ROOM",
    "Ledger",
    "Models",
    "call_limits",
    "concurrency_limits",
]


LEAST_ROOM, MOST_ROOM = 256, 8192
"""Tokens of an answer that a bounded run reserves where nobody bounds the answer: as many as are
left, within these two."""


async def _never(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Reservation:
    """A call that is under way; nothing is reserved for a result that is there already.

    `is_paid` says that it is paid for under another key. `room` is how many tokens each of its
    requests may write; None where nobody bounds that.
    """

    booking: Booking
    is_stored: bool = False
    is_paid: bool = False
    room: int | None = None


@dataclass(slots=True)
class Ledger:
    """A run's accounts, and what its calls under way reserve.

    Attributes:
        started_at: When this process began to work on the run.
        accounts: What earlier processes left.
        prices: What a token of each model costs, by the model's name.
        write: Where bookings are written down.
        is_stored: Whether the result of an earlier call is there, by the call's key.
    """

    budget: Budget
    started_at: float
    accounts: Accounts = field(default_factory=Accounts)
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    clock: Callable[[], float] = run_time
    write: Callable[[Booking], None] = lambda _: None
    is_stored: Callable[[str], Awaitable[bool]] = _never
    _before_s: float = field(init=False)
    _under_way: dict[str, _Reservation] = field(init=False, default_factory=dict[str, _Reservation])
    _settled: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _waiting: set[str] = field(init=False, default_factory=set[str])

    def __post_init__(self) -> None:
        self._before_s = self.accounts.elapsed_s

    @property
    def is_resumed(self) -> bool:
        """Whether an earlier process of the run made calls."""
        return bool(self.accounts.settled or self.accounts.open_bookings)

    @property
    def spent(self) -> Amount:
        """What all calls took so far, whichever process made them."""
        return self.accounts.spent

    async def reserve(self, request: SubagentRequest) -> SubagentRequest:
        """Return the request, cut to the run's time and budget, once the run can afford it.

        What only others' reservations stand in the way of waits until one of them is settled. A
        request whose result is there is nothing that the run would have to afford.

        Raises:
            BudgetExceededError: It could exceed a bound even then; the message has the figures.
        """
        key = request.cache_key()
        before = "".join(each.asked + each.answered for each in request.history)
        texts = request.instructions + before + prompt_of(request) + request.begun
        prompt = tokens_of(texts) + picture_tokens(request)
        if await self.is_stored(key):
            self._begin(request, key, Amount(), is_stored=True)
            return request
        while True:
            room = request.max_output_tokens or self._room(prompt, request.model)
            needed = self._amount(request.model, prompt, room or 0)
            if admits(self.budget, self._spending(), needed):
                break
            self._settled.clear()
            await self._settled.wait()
        self.accounts.give_up(key)
        self.write(self._begin(request, key, needed, room=room))
        request = request.model_copy(update={"max_output_tokens": room})
        if self.budget.timeout_s is None:
            return request
        remaining = self.budget.timeout_s - self._elapsed_s
        return request.model_copy(update={"timeout_s": min(request.timeout_s, remaining)})

    async def reserve_part(self, key: str, step: str) -> Budget:
        """Reserve for a step that a run of its own does, once there is room; return its bounds.

        What an earlier process reserved for it is reserved still, and its run has these bounds.

        Raises:
            BudgetExceededError: Nothing is left.
        """
        if (before := self.accounts.open_bookings.pop(key, None)) is not None:
            self._under_way[key] = _Reservation(before)
            return Budget(
                None if self.budget.max_tokens is None else before.tokens,
                None if self.budget.max_usd is None else before.usd,
                self.seconds_left,
            )
        while (room := room_for_part(self.budget, self._spending())) is None:
            self._settled.clear()
            await self._settled.wait()
        booking = Booking(
            key=key,
            step=step,
            tokens=room.max_tokens or 0,
            usd=room.max_usd or 0.0,
            elapsed_s=self._elapsed_s,
        )
        self._under_way[key] = _Reservation(booking)
        self.write(booking)
        return room

    def settle_part(self, key: str, step: str, usage: Usage, spent: Amount) -> None:
        """Book what the run of a step took, once in all processes; nothing is reserved any more."""
        self._under_way.pop(key, None)
        if key not in self.accounts.settled:
            self.book(key, "", usage, spent, step=step)
        self._settled.set()

    def take_over(self, request: SubagentRequest) -> None:
        """Begin a call that is paid for under another key: it takes nothing when it is settled."""
        self._begin(request, request.cache_key(), Amount(), is_paid=True)

    async def extend(self, key: str, taken: Usage, input_tokens: int) -> None:
        """Let a call that is under way send another request, once the run can afford it.

        Args:
            key: The key of the call's own request.
            taken: What the call took so far.
            input_tokens: What its next request will read.

        Raises:
            BudgetExceededError: It could exceed a bound whatever becomes of the others.
        """
        under_way = self._under_way[key]
        model = under_way.booking.model
        while True:
            needed = self._amount(model, input_tokens, under_way.room or 0)
            needed = self._taken(model, taken) + needed
            del self._under_way[key]
            try:
                fits = admits(self.budget, self._spending(), needed)
            finally:
                self._under_way[key] = under_way
            # Where all of them wait for one another none would ever go on.
            if fits or self._waiting >= set(self._under_way) - {key}:
                break
            self._waiting.add(key)
            self._settled.clear()
            try:
                await self._settled.wait()
            finally:
                self._waiting.discard(key)
        booking = under_way.booking.model_copy(
            update={"tokens": needed.tokens, "usd": needed.usd, "elapsed_s": self._elapsed_s}
        )
        self._under_way[key] = replace(under_way, booking=booking)

    def settle(self, key: str, usage: Usage | None, *, is_exact: bool = True) -> None:
        """Book what a request took, by its own key.

        Args:
            usage: What it took, as far as anybody knows; None if nobody knows anything.
            is_exact: Whether that is all it took; else all that was reserved counts.
        """
        under_way = self._under_way.pop(key)
        reserved = under_way.booking
        if under_way.is_paid:
            self.book(reserved.key, reserved.model, Usage(), step=reserved.step)
        elif not (under_way.is_stored and reserved.key in self.accounts.settled):
            is_exact = is_exact and usage is not None
            amount = None if is_exact else reserved.amount
            self.book(reserved.key, reserved.model, usage or Usage(), amount, step=reserved.step)
        self._settled.set()

    def book(
        self, key: str, model: str, usage: Usage, amount: Amount | None = None, *, step: str = ""
    ) -> None:
        """Book what a call took; `amount` is what counts against the bounds where it isn't that."""
        amount = self._taken(model, usage) if amount is None else amount
        booking = Booking(
            key=key,
            step=step,
            model=model,
            is_settled=True,
            tokens=amount.tokens,
            usd=amount.usd,
            usage=usage,
            elapsed_s=self._elapsed_s,
        )
        self.accounts.book(booking)
        self.write(booking)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the run may still take; None where nothing bounds it."""
        limit = self.budget.timeout_s
        return None if limit is None else max(0.0, limit - self._elapsed_s)

    @property
    def is_over(self) -> bool:
        """Whether the run's time is spent."""
        limit = self.budget.timeout_s
        return limit is not None and self._elapsed_s >= limit

    def _begin(
        self,
        request: SubagentRequest,
        key: str,
        needed: Amount,
        *,
        is_stored: bool = False,
        is_paid: bool = False,
        room: int | None = None,
    ) -> Booking:
        booking = Booking(
            key=key,
            step=request.step,
            model=request.model,
            tokens=needed.tokens,
            usd=needed.usd,
            elapsed_s=self._elapsed_s,
        )
        self._under_way[request.key] = _Reservation(booking, is_stored, is_paid, room)
        return booking

    @property
    def _elapsed_s(self) -> float:
        """Seconds that the run has been worked on, by all processes together."""
        return self._before_s + self.clock() - self.started_at

    def _room(self, prompt: int, model: str) -> int | None:
        """Tokens of an answer that nobody bounds; None where no bound of the run needs any."""
        if self.budget.max_tokens is None and self.budget.max_usd is None:
            return None
        remaining = float(MOST_ROOM)
        if self.budget.max_tokens is not None:
            remaining = min(remaining, self.budget.max_tokens - self.spent.tokens - prompt)
        price = self.prices.get(model)
        if self.budget.max_usd is not None and price is not None and price.output_usd:
            usd = self.budget.max_usd - self.spent.usd - price.of(prompt, 0)
            remaining = min(remaining, usd / price.output_usd)
        return max(LEAST_ROOM, int(remaining))

    def _amount(self, model: str, input_tokens: int, output_tokens: int) -> Amount:
        price = self.prices.get(model)
        usd = price.of(input_tokens, output_tokens) if price else 0.0
        return Amount(input_tokens + output_tokens, usd)

    def _taken(self, model: str, usage: Usage) -> Amount:
        counted = self._amount(model, usage.input_tokens, usage.output_tokens)
        return counted if usage.cost_usd is None else Amount(usage.tokens, usage.cost_usd)

    def _spending(self) -> Spending:
        under_way = (each.booking.amount for each in self._under_way.values())
        return Spending(self.spent, sum(under_way, Amount()), self._elapsed_s)


T = TypeVar("T")

_TIERS: tuple[Tier, ...] = ("worker", "coder", "architect")
_UNKNOWN = Profile()


@dataclass(frozen=True, slots=True)
class Models:
    """What is known of a run's models before it starts, by their names.

    Attributes:
        prices: US dollars for a token; a name that isn't there has no known price.
    """

    profiles: Mapping[str, Profile] = field(default_factory=dict[str, Profile])
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])

    def profile(self, name: str) -> Profile:
        """Return the profile of a model; one without bounds where it isn't known."""
        return self.profiles.get(name, _UNKNOWN)


def call_limits(
    options: SwarmOptions,
    tier: TierName,
    profile: Profile,
    step: StepSettings | None = None,
    timeout_s: float | None = None,
) -> CallLimits:
    """Return what bounds a call: of step, tier, run and profile the first that says it.

    Args:
        options: What the user sets for the run and its tiers.
        tier: The tier that the call is on.
        profile: The profile of the model that is called.
        step: What the plan sets for the step.
        timeout_s: Seconds that the plan gives the step.
    """
    step, own = step or StepSettings(), options.tiers.get(tier, TierOptions())
    seed = step.seed if step.seed is not None else options.seed
    return CallLimits(
        max_input_tokens=_first(
            step.max_input_tokens,
            own.max_input_tokens,
            options.max_input_tokens,
            profile.max_input_tokens,
        ),
        max_output_tokens=_first(
            step.max_output_tokens,
            own.max_output_tokens,
            options.max_output_tokens,
            profile.max_output_tokens,
        ),
        temperature=_first(
            step.temperature, own.temperature, options.temperature, profile.temperature
        ),
        top_p=step.top_p,
        thinking=step.thinking,
        seed=seed or 0,
        seed_is_set=seed is not None,
        timeout_s=timeout_s or own.timeout_s or options.step_timeout_s or profile.timeout_s,
    )


def concurrency_limits(options: SwarmOptions, models: Models) -> ConcurrencyLimits:
    """Return how many attempts may run in parallel: as many as the models accept by default."""
    names: dict[Tier, str] = {tier: options.model_of(tier) for tier in _TIERS}
    tiers: dict[str, int] = {
        tier: _first(
            options.tiers.get(tier, TierOptions()).concurrency, models.profile(name).concurrency
        )
        or 1
        for tier, name in names.items()
    }
    if options.max_concurrency is not None:
        own = {tier for tier, bounds in options.tiers.items() if bounds.concurrency is not None}
        bounded = {tier: most for tier, most in tiers.items() if tier in own}
        return ConcurrencyLimits(options.max_concurrency, bounded)
    # Tiers that one model serves share what it takes.
    by_model: dict[str, int] = {}
    for tier, name in names.items():
        by_model[name] = max(by_model.get(name, 0), tiers[tier])
    return ConcurrencyLimits(sum(by_model.values()), {**tiers})


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)
