"""A run's ledger, opened with what earlier processes of the run spent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from ...errors import StorageError
from ...events.kinds import SpentEvent, Tell
from ...pricing import Price
from ...result import Usage
from ...runs import ACCOUNTS, RunFolder
from ...tasks.planner.task import Planned
from ..bounds.accounts import Accounts, Booking
from ..bounds.budget import Budget
from ..bounds.ledger import Ledger
from ..options import SwarmOptions
from .results import is_stored

__all__ = ["book_plan", "go_on", "open_ledger", "unbooked_ledger"]


def open_ledger(
    run: RunFolder,
    options: SwarmOptions,
    prices: Mapping[str, Price],
    started_at: float,
    tell: Tell,
) -> Ledger:
    """Open a run's accounts, with what its earlier processes took.

    Args:
        started_at: When this process began to work on the run.
        tell: Hears of what is spent.
    """

    def write(booking: Booking) -> None:
        # A full disk costs later processes of the run this line, not the call its answer.
        with suppress(StorageError):
            run.append(ACCOUNTS, booking)
        # What was paid for under another key has been told of.
        if booking.is_settled and (booking.usage.requests or booking.tokens):
            tell(_spent(booking, accounts.usage))

    accounts = Accounts.of(run.lines(ACCOUNTS))
    ledger = Ledger(_budget(options), started_at, accounts, prices, write=write)
    if accounts.settled or accounts.left_open:
        ledger.is_stored = is_stored
    return ledger


def go_on(ledger: Ledger, prices: Mapping[str, Price]) -> None:
    """Let a run's accounts go on under another plan, whose calls may have been made before."""
    ledger.prices = prices
    ledger.is_stored = is_stored


def book_plan(ledger: Ledger, planned: Planned) -> None:
    """Book what a plan took, once in all processes of its run."""
    usage, text = planned.planning.usage, planned.model_dump_json()
    key = f"plan.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if usage.requests and key not in ledger.accounts.settled:
        ledger.book(key, planned.planning.model or "", usage, step="plan")


def unbooked_ledger(
    run: RunFolder, options: SwarmOptions, prices: Mapping[str, Price], started_at: float
) -> Ledger:
    """Return what bounds calls before there is a plan; what they take is booked with the plan."""
    accounts = Accounts.of(run.lines(ACCOUNTS))
    return Ledger(_budget(options), started_at, accounts, prices, is_stored=is_stored)


def _budget(options: SwarmOptions) -> Budget:
    return Budget(options.max_tokens, options.max_usd, options.timeout_s)


def _spent(booking: Booking, total: Usage) -> SpentEvent:
    return SpentEvent(
        step=booking.step if booking.step.startswith("S") else "",
        model=booking.model,
        call_input_tokens=booking.usage.input_tokens,
        call_output_tokens=booking.usage.output_tokens,
        calls=total.requests,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost_usd=total.cost_usd,
    )
