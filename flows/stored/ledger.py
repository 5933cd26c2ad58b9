"""A run's ledger over all of its processes, and work whose results are gone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress

from prefect.results import get_result_store

from ...errors import RunDamagedError, StorageError
from ...events.kinds import SpentEvent, Tell
from ...pricing import Price
from ...result import Usage
from ...runs import ACCOUNTS, RunFolder
from ...tasks.planner.task import Planned
from ...tasks.subagent.task import subagent
from ...toolsets.journal import answers_kept
from ..bounds.accounts import Accounts, Booking, Budget
from ..bounds.ledger import Ledger
from ..options import SwarmOptions
from ..prestart import is_kept_ahead
from .planned import StoredPlanning, load
from .restore import finished_step

__all__ = ["book_plan", "go_on", "is_stored", "open_ledger", "paid_again", "unbooked_ledger"]


async def is_stored(key: str) -> bool:
    """Return whether the result of a subagent's call can be read, by the call's key."""
    store = await get_result_store().aupdate_for_task(subagent)
    try:
        await store.aread(key)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, Prefect can't read it either
        return False
    return True


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


PLAN = "plan"


async def paid_again(run: RunFolder) -> tuple[str, ...]:
    """Return what of a run is asked again although it was answered before: steps, plan, answer.

    A step is found by its files, and each call of a step that isn't over among Prefect's results;
    an attempt that was put aside until a person answers goes on by its journal.
    """
    accounts = Accounts.of(run.lines(ACCOUNTS))
    again = run.begun_again()
    names: dict[str, None] = {}
    for booking in accounts.settled.values():
        if booking.step in names or not booking.usage.requests:
            continue
        if not _is_current(booking, again) or _is_whole(run, booking.step):
            continue
        if is_kept_ahead(run, booking.key) or _is_journaled(run, booking):
            continue
        if booking.step == PLAN or not await is_stored(booking.key):
            names[booking.step] = None
    return (*_taken_over_and_gone(run), *names)


def _taken_over_and_gone(run: RunFolder) -> list[str]:
    """Return the steps that another run had done and whose outputs neither has any more."""
    with suppress(RunDamagedError):
        if run.result() is None:
            taken = [step.id for step in run.steps() if step.taken_from is not None]
            return [name for name in taken if not _is_whole(run, name)]
    return []


def _is_current(booking: Booking, again: dict[str, int]) -> bool:
    """Whether a call belongs to its step as it was last begun."""
    if not (times := again.get(booking.step, 0)):
        return True
    return f".{booking.step}-{times}." in booking.key


def _is_journaled(run: RunFolder, booking: Booking) -> bool:
    """Whether all that an attempt with tools was answered is in its journal."""
    with suppress(RunDamagedError):
        return answers_kept(run, booking.key) >= booking.usage.requests
    return False


def _is_whole(run: RunFolder, name: str) -> bool:
    """Whether a run's folder has all that is needed not to ask for something again."""
    with suppress(RunDamagedError):
        if name == PLAN:
            return load(run, StoredPlanning) is not None
        if run.result() is not None:
            return True
        if re.fullmatch(r"S[0-9]+", name):
            return finished_step(run, name) is not None
    return False
