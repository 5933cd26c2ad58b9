"""Work that a run had paid for and whose results are gone: it is paid for again."""

from __future__ import annotations

import re
from contextlib import suppress

from ...errors import RunDamagedError
from ...runs import ACCOUNTS, RunFolder
from ...toolsets.journal.file import answers_kept
from ..ahead.stored import is_kept_ahead
from ..bounds.accounts import Accounts, Booking
from .planned import StoredPlanning, load
from .restore import finished_step
from .results import is_stored

__all__ = ["paid_again"]

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
