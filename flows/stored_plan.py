"""A run's plan, steps and ledger from earlier processes: taken as they are, never asked again."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from prefect.client.schemas.objects import State
from prefect.results import get_result_store
from pydantic import BaseModel

from ..data_types import Frozen, Moment
from ..errors import RunDamagedError, StorageError
from ..models.names import Price
from ..plan.compile import CompiledStep, StepRecall
from ..plan.ids import is_step_id
from ..plan.schedule_events import TurnCause
from ..plan.turns import TurnReply
from ..store.accounts import Booking, Budget
from ..store.attempt import Usage
from ..store.events import EventSink, SpentEvent
from ..store.protocol import RecordKind, RunStore
from ..store.result import Exploration, Recall
from ..store.step import StepState, TakenFrom
from ..tasks.planner.facts import PlanningFacts
from ..tasks.planner.task import Planned
from ..tasks.subagent.stored_answer import stored_answer
from ..tasks.subagent.task import subagent
from ..toolsets.journal import stored_answers
from .bounds import Ledger
from .options import SwarmOptions
from .prefect_io.task_runs import state_of
from .prestart import is_prestart_stored

__all__ = [
    "StoredExploration",
    "StoredFacts",
    "StoredPlanning",
    "StoredRecall",
    "StoredTurn",
    "book_plan",
    "finished_step",
    "go_on",
    "is_stored",
    "load",
    "open_ledger",
    "paid_again",
    "restore_steps",
    "save",
    "stored_turns",
    "unbooked_ledger",
]


_logger = logging.getLogger("prefect_swarm.runs")


def restore_steps(run: RunStore, records: Mapping[str, StepState]) -> frozenset[str]:
    """Give the records of the steps that had succeeded what is stored of them; return their ids."""
    restored: set[str] = set()
    for name, record in records.items():
        if record.step.is_group:
            # Its members are restored, and it by them.
            continue
        if found := _planned_step(run, record.step):
            step, artifact = found
            record.restore(step, artifact)
            restored.add(name)
    return frozenset(restored)


def finished_step(run: RunStore, name: str) -> tuple[StepState, str] | None:
    """Return a step that had succeeded, with its output; None if it had not.

    Raises:
        RunDamagedError: One of them can't be read.
    """
    step, artifact = run.step(name), run.output(name)
    if artifact is None and step is not None and step.taken_from is not None:
        artifact = _fetched(run, name, step.taken_from)
    if step is None or artifact is None or step.status != "succeeded":
        return None
    if not step.attempts and step.taken_from is None:
        return None
    return step, artifact


def _fetched(run: RunStore, name: str, origin: TakenFrom) -> str | None:
    """Return an output that was taken over and is gone, from the run that made it."""
    # Its name is one part of a path: `TakenFrom` sees to that.
    text = run.other(origin.run).output(name)
    if text is not None:
        run.write_output(name, text)
    return text


def _planned_step(run: RunStore, planned: CompiledStep) -> tuple[StepState, str] | None:
    """Return a step that had succeeded as it is planned, as it was changed, or in another run."""
    try:
        found = finished_step(run, planned.id)
    except RunDamagedError as error:
        _logger.warning("%s It is looked for in Prefect's results.", error.problem)
        return None
    if found is None:
        return None
    step, _ = found
    is_as_planned = (step.agent, step.prompt) == (planned.agent, planned.prompt)
    return found if is_as_planned or step.change or step.taken_from else None


class _WithState(Frozen):
    """What a task run gave; `task_run` is Prefect's id of it."""

    task_run: str = ""

    @property
    def state(self) -> State[Any] | None:
        """What the next task runs wait for."""
        return state_of(self.task_run) if self.task_run else None


class StoredPlanning(_WithState):
    """A plan, and where it came from."""

    planned: Planned


class StoredExploration(_WithState):
    """What the orchestrator found with tools before it planned."""

    exploration: Exploration


class StoredFacts(Frozen):
    """What the planner is shown; None if it is shown nothing."""

    facts: PlanningFacts | None


class StoredTurn(Frozen):
    """A turn that was taken. It is stored before anything of it is launched.

    Attributes:
        number: Its number; the first plan is turn 1.
        asked, answered: What the orchestrator read and wrote.
        seen: Ids of the steps that were over, of which it had been shown what they came to.
        without: Ids of the failed steps that it goes on without.
        edits: How often the plan had been edited.
        recall: What the memory made of the steps that it adds.
        waits: Whether a person has to approve it, and has not decided.
        refused: Why a person rejected it; its reply is empty then.
        messages: Numbers of the messages that it was shown.
        began_at: When it was asked.
    """

    number: int
    cause: TurnCause
    asked: str
    answered: str
    reply: TurnReply
    seen: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    edits: int = 0
    recall: tuple[StepRecall, ...] = ()
    waits: bool = False
    refused: str = ""
    messages: tuple[int, ...] = ()
    began_at: Moment = 0.0
    usage: Usage = Usage()
    work_s: float = 0.0
    task_run: str = ""


def stored_turns(run: RunStore) -> tuple[StoredTurn, ...]:
    """Return the turns of a run that were taken, in their order."""
    found = run.records("turn", StoredTurn, lambda turn: str(turn.number))
    return tuple(sorted(found, key=lambda turn: turn.number))


class StoredRecall(_WithState):
    """What the memory made of the plan; None if the run has no memory."""

    recall: Recall | None


K = TypeVar("K", StoredExploration, StoredFacts, StoredPlanning, StoredRecall)
_Record = StoredExploration | StoredFacts | StoredPlanning | StoredRecall
_KINDS: dict[type[BaseModel], RecordKind] = {
    StoredExploration: "exploration",
    StoredFacts: "facts",
    StoredPlanning: "planning",
    StoredRecall: "recall",
}


def load(run: RunStore, kind: type[K], edits: int = 0) -> K | None:
    """Return what an earlier process of the run kept; None if it kept nothing that can be read.

    Args:
        edits: How often the plan had been edited when it was kept.
    """
    try:
        return run.record(_KINDS[kind], kind, _key(edits))
    except RunDamagedError as error:
        _logger.warning("%s It is looked for in Prefect's results.", error.problem)
    return None


def save(run: RunStore, stored: _Record, edits: int = 0) -> None:
    """Keep it; `edits` is how often the plan has been edited."""
    run.write_record(_KINDS[type(stored)], stored, _key(edits))


def _key(edits: int) -> str:
    return str(edits) if edits else ""


async def is_stored(key: str) -> bool:
    """Return whether the result of a subagent's call can be read, by the call's key."""
    store = await get_result_store().aupdate_for_task(subagent)
    try:
        await store.aread(key)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, Prefect can't read it either
        return False
    return True


def open_ledger(
    run: RunStore,
    options: SwarmOptions,
    prices: Mapping[str, Price],
    started_at: float,
    emit: EventSink,
) -> Ledger:
    """Open a run's accounts, with what its earlier processes took.

    Args:
        started_at: When this process began to work on the run.
        tell: Hears of what is spent.
    """

    def write(booking: Booking) -> None:
        # A full disk costs later processes of the run this line, not the call its answer.
        with suppress(StorageError):
            run.book(booking)
        # What was paid for under another key has been reported.
        if booking.is_settled and (booking.usage.requests or booking.tokens):
            emit(_spent(booking, accounts.usage))

    accounts = run.accounts()
    ledger = Ledger(_budget(options), started_at, accounts, prices, write=write)
    if ledger.is_resumed:
        ledger.is_stored = partial(_is_answered, run)
    return ledger


def go_on(ledger: Ledger, run: RunStore, prices: Mapping[str, Price]) -> None:
    """Let a run's accounts go on under another plan, whose calls may have been made before."""
    ledger.prices = prices
    ledger.is_stored = partial(_is_answered, run)


async def _is_answered(run: RunStore, key: str) -> bool:
    """Whether a result is there: Prefect's, or what came of it on another machine."""
    return await is_stored(key) or await asyncio.to_thread(stored_answer, run, key) is not None


def book_plan(ledger: Ledger, planned: Planned) -> None:
    """Book what a plan took, once in all processes of its run."""
    usage, text = planned.planning.usage, planned.model_dump_json()
    key = f"plan.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if usage.requests and key not in ledger.accounts.settled:
        ledger.book(key, planned.planning.model or "", usage, step="plan")


def unbooked_ledger(
    run: RunStore, options: SwarmOptions, prices: Mapping[str, Price], started_at: float
) -> Ledger:
    """Return what bounds calls before there is a plan; what they take is booked with the plan."""
    accounts = run.accounts()
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


PLAN, PART = "plan", "part."
"""Whose booking the plan's is, and what the keys of bookings of parts begin with."""


async def paid_again(run: RunStore) -> tuple[str, ...]:
    """Return what of a run is asked again although it was answered before: steps, plan, answer.

    A step is found by its files, and each call of a step that isn't over among Prefect's results;
    an attempt that was put aside until a person answers goes on by its journal.
    """
    accounts = run.accounts()
    again = run.restart_counts()
    names: dict[str, None] = {}
    for booking in accounts.settled.values():
        if booking.step in names or not booking.usage.requests:
            continue
        if booking.key.startswith(PART):
            # Its run is found again, with all that it has.
            continue
        if not _is_current(booking, again) or _is_whole(run, booking.step):
            continue
        if is_prestart_stored(run, booking.key) or _is_journaled(run, booking):
            continue
        if booking.step == PLAN or not await is_stored(booking.key):
            names[booking.step] = None
    return (*_taken_over_and_gone(run), *names)


def _taken_over_and_gone(run: RunStore) -> list[str]:
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


def _is_journaled(run: RunStore, booking: Booking) -> bool:
    """Whether all that an attempt with tools was answered is in its journal."""
    with suppress(RunDamagedError):
        return stored_answers(run, booking.key) >= booking.usage.requests
    return False


def _is_whole(run: RunStore, name: str) -> bool:
    """Whether a run's folder has all that is needed not to ask for something again."""
    with suppress(RunDamagedError):
        if name == PLAN:
            return load(run, StoredPlanning) is not None
        if run.result() is not None:
            return True
        if is_step_id(name):
            return finished_step(run, name) is not None
    return False
