"""The driver: it carries out the schedule's commands through Prefect and reports their outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..errors import Category, SwarmError
from ..metrics.clock import run_time
from ..plan.schedule import Schedule
from ..plan.schedule_events import (
    Ask,
    AttemptFinished,
    Cancel,
    Cancelled,
    Close,
    Command,
    Decide,
    Decided,
    Event,
    Expand,
    Expanded,
    Finish,
    Launch,
    Messaged,
    PlanExtended,
    Rejected,
    Replace,
    RunStatus,
    Skip,
    StepStatus,
    TakeTurn,
    Wait,
)
from ..store.attempt import Attempt, excerpt
from ..store.events import EndedEvent, EndKind, ReadyEvent, StartedEvent
from ..store.question import RunWaitingError
from .approval import Asking
from .attempt import Attempts
from .bounds import concurrency_limits
from .context import RunContext, save_step, save_step_aside
from .expansion import Expansions
from .parts import Parts
from .turns import Turns

__all__ = ["Driver"]

_Plain = Launch | Ask | TakeTurn | Skip | Cancel | Wait | Replace | Finish

_ENDINGS: Mapping[str, EndKind] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "failed",
    "waived": "skipped",
    "retry": "retrying",
    "cancelled": "cancelled",
}


@dataclass(slots=True)
class Driver:
    """Drives one plan. `drive` returns when every step is over, or all that ran is cancelled.

    Attributes:
        asking: What a person is asked.
        restored: Ids of the steps that had succeeded in an earlier process.
        turns: The orchestrator's turns; None where it has but the first, which is the plan.
    """

    context: RunContext
    attempts: Attempts
    asking: Asking
    restored: frozenset[str] = frozenset()
    turns: Turns | None = None
    clock: Callable[[], float] = field(default=run_time)
    _schedule: Schedule = field(init=False)
    _expansions: Expansions = field(init=False)
    _running: dict[str, asyncio.Task[AttemptFinished]] = field(
        init=False, default_factory=dict[str, "asyncio.Task[AttemptFinished]"]
    )
    _ready: set[str] = field(init=False, default_factory=set[str])
    _fresh: list[str] = field(init=False, default_factory=list[str])
    _waits_since: dict[str, float] = field(init=False, default_factory=dict[str, float])
    _prestarted: frozenset[str] = field(init=False, default=frozenset())
    _status: RunStatus | Literal["edited"] | None = field(init=False, default=None)
    _waits: bool = field(init=False, default=False)
    _person: asyncio.Task[None] | None = field(init=False, default=None)
    _parts: Parts = field(init=False)
    _under_way: dict[str, asyncio.Task[None]] = field(
        init=False, default_factory=dict[str, "asyncio.Task[None]"]
    )
    _turn: asyncio.Task[PlanExtended] | None = field(init=False, default=None)
    _given_up: set[str] = field(init=False, default_factory=set[str])

    def __post_init__(self) -> None:
        limits = concurrency_limits(self.context.options, self.context.models)
        self._schedule = Schedule(limits)
        self._expansions = Expansions(self.context)
        self._parts = Parts(self.context)

    async def drive(self) -> RunStatus | Literal["edited"]:
        """Run the plan to its end; `edited` if another plan is to take its place.

        Raises:
            RunWaitingError: Nothing goes on before a person answers, and nobody asks them here.
        """
        # The first attempts of these are under way, and were reported.
        self._prestarted = self.context.prestarted.begun
        self._ready.update(self._prestarted)
        cancel = asyncio.create_task(self.context.control.cancel.wait())
        watched: set[asyncio.Task[Any]] = {cancel}
        try:
            await self._advance(self._plan())
            for step in self.restored:
                self._report_attempts(step)
            while self._status is None:
                await self._take_answers()
                await self._take_messages()
                if self._status is not None:
                    break
                await self._next_event(watched)
                if cancel in watched and cancel.done():
                    watched.clear()
                    self.asking.close()
                    await self._stop_turn()
                    await self._advance(Cancelled())
                    for part in self._under_way.values():
                        part.cancel()
                await self._take_turn()
                await self._take_ended()
                await self._take_parts()
        finally:
            cancel.cancel()
            await self._stop_asking()
            await self._stop_turn()
            tasks: tuple[asyncio.Task[Any], ...] = (
                *self._running.values(),
                *self._under_way.values(),
            )
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.attempts.spans.close()
        return self._status

    def _plan(self) -> PlanExtended:
        wanted = self.context.options.approve
        steps = self.context.plan.steps
        marked = frozenset(step.id for step in steps if step.approval)
        has_turns = self.turns is not None and bool(self.turns.taken)
        began = self.turns.begin() if self.turns else PlanExtended(())
        is_asked = "plan" in wanted or ("acting" in wanted and bool(self.context.irreversible))
        return replace(
            began,
            steps=steps,
            done=self.restored,
            under_way=self.context.prestarted.under_way,
            approval=marked if "steps" in wanted else frozenset(),
            # A plan that a person wrote themselves needs nobody's approval; and one that turns have
            # added to was approved before the first of them.
            asked=is_asked and not self.asking.edits and not has_turns,
        )

    async def _next_event(self, watched: set[asyncio.Task[Any]]) -> None:
        """Wait until an attempt or the run is over, or it is time to look for answers."""
        is_idle = not (self._running or self._under_way)
        if self._waits or (self.asking.has_decisions and is_idle):
            self._ask_person()
        self.asking.has_asked.clear()
        wakes: set[asyncio.Future[Any]] = set()
        if self.asking.is_open or self._reads_messages:
            wakes.add(asyncio.ensure_future(self.asking.pause()))
        if self._turn is not None:
            # A turn may ask a person in its middle.
            wakes.add(asyncio.ensure_future(self.asking.has_asked.wait()))
        others: set[asyncio.Task[Any]] = {*self._under_way.values()}
        others |= {each for each in (self._person, self._turn) if each is not None}
        try:
            await asyncio.wait(
                {*self._running.values(), *watched, *others, *wakes},
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for wake in wakes:
                wake.cancel()
        if self._person is not None and self._person.done():
            asked, self._person = self._person, None
            asked.result()

    def _ask_person(self) -> None:
        """Have a person asked who is there; without anybody the run is left."""
        if self._person is not None:
            return
        questions = self.asking.pending
        control, run = self.context.control, self.context.run
        if control.ask_person is None:
            raise RunWaitingError(run.run_id, questions, suspended=control.suspended)
        asked = control.ask_person(run, questions)
        self._person = asyncio.create_task(asked)

    async def _stop_asking(self) -> None:
        if self._person is not None:
            self._person.cancel()
            await asyncio.gather(self._person, return_exceptions=True)
            self._person = None

    async def _take_turn(self) -> None:
        """Go on as the orchestrator has decided, if it has."""
        if self._turn is not None and self._turn.done():
            turn, self._turn = self._turn, None
            if turn.cancelled():
                return
            event = turn.result()
            self._expansions.take_plan()
            self._given_up.update(event.given_up)
            for step in event.given_up:
                if (part := self._under_way.get(step)) is not None:
                    part.cancel()
            await self._advance(event)
            for step in event.given_up:
                if self.context.records[step].now == "skipped":
                    self._report_skipped(step)

    async def _stop_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
            self._turn = None

    async def _take_answers(self) -> None:
        """Go by the answers that have come, and by those to what is asked because of them."""
        while self._status is None and (events := self.asking.answers()):
            await self._stop_asking()
            for event in events:
                await self._advance(event)
                if isinstance(event, Rejected) and event.step:
                    self._report_rejected(event.step)

    @property
    def _reads_messages(self) -> bool:
        """Whether the orchestrator has a turn yet in which it reads what a person writes to it."""
        return self.turns is not None and self.turns.left > 0

    async def _take_messages(self) -> None:
        """Have a turn with the messages that have come; one that is under way is ended first."""
        turns = self.turns
        if turns is None or self._status is not None or not self._reads_messages:
            return
        turns.inbox.look()
        if turns.inbox.unread and self._turn is None:
            await self._advance(Messaged())

    def _report_rejected(self, step: str) -> None:
        record = self.context.records[step]
        self._save(step)
        kind: EndKind = "skipped" if record.status == "skipped" else "failed"
        self.context.emit(_ended(kind, step, None, record.reason))

    async def _take_ended(self) -> None:
        """Take the ends of all attempts that are over; nothing follows before they are kept."""
        ended: list[tuple[AttemptFinished, Sequence[Command]]] = []
        for step, task in list(self._running.items()):
            if task.done():
                del self._running[step]
                event = self._event(step, task)
                ended.append((event, self._decide(event)))
        run, records = self.context.run, self.context.records
        names = [event.step for event, _ in ended]
        await asyncio.gather(*(save_step_aside(run, records[name]) for name in names))
        for event, _ in ended:
            if event.outcome != "asked":
                self._report_end(event)
        self._report_ready()
        for event, commands in ended:
            await self._carry_out(commands, event)

    async def _take_parts(self) -> None:
        """Expand the steps that other runs have done: their members end as they did there."""
        for step, task in list(self._under_way.items()):
            if not task.done():
                continue
            del self._under_way[step]
            record = self.context.records[step]
            error = None if task.cancelled() else task.exception()
            if isinstance(error, SwarmError):
                record.end(str(error), error.category)
            elif self._ended_early(step, task) is None:
                event = await self._expansions.expand(record.step)
                await self._carry_out_all(self._expanded(event))
                continue
            await self._advance(Expanded(step, outcome="failed"))

    def _event(self, step: str, task: asyncio.Task[AttemptFinished]) -> AttemptFinished:
        ended = self._ended_early(step, task)
        return task.result() if ended is None else AttemptFinished(step, ended)

    def _ended_early(
        self, step: str, task: asyncio.Task[Any]
    ) -> Literal["cancelled", "failed"] | None:
        """Say how work on a step broke off, which its record is told; None if it didn't."""
        if task.cancelled():
            if step not in self._given_up:
                self.context.records[step].end("cancelled")
            return "cancelled"
        if error := task.exception():
            # SIGTERM, raised in what the step just did: it is meant for the run.
            if not isinstance(error, Exception):
                raise error
            # A full disk, a server that went away: it costs this step, not what others have done.
            self.context.records[step].end(repr(error), Category.INFRASTRUCTURE)
            return "failed"
        return None

    async def _advance(self, event: Event) -> None:
        commands = self._decide(event)
        self._report_ready()
        await self._carry_out(commands, event)

    def _decide(self, event: Event) -> list[Command]:
        """Have the schedule take an event, and the steps the statuses that it gives them."""
        commands = self._schedule.advance(event)
        for name, status in self._schedule.take_changes().items():
            self.context.records[name].set_status(status)
            self._note_ready(name, status)
        return commands

    async def _carry_out(self, commands: Sequence[Command], event: Event) -> None:
        await self._carry_out_all([(command, event) for command in commands])

    async def _carry_out_all(self, commands: Sequence[tuple[Command, Event]]) -> None:
        """Carry commands out, and those that follow from them before the next ones."""
        self._waits = False
        left = [*reversed(commands)]
        while left:
            command, event = left.pop()
            if isinstance(command, Decide | Expand | Close):
                # Not by recursion: of a run that is resumed a hundred rounds may be over.
                left += reversed(await self._resolve(command))
            else:
                await self._carry_out_one(command, event)

    async def _carry_out_one(self, command: _Plain, event: Event) -> None:
        match command:
            case Launch():
                await self._launch(command)
            case Ask():
                has_questions = isinstance(event, AttemptFinished | Expanded)
                self.asking.ask(command, event.questions if has_questions else ())
            case Skip():
                self._skip(command)
            case Cancel(step):
                self._running[step].cancel()
            case TakeTurn(cause):
                if self.turns is not None:
                    self._turn = asyncio.create_task(self.turns.take(cause))
            case Wait():
                self._waits = True
            case Replace():
                self._status = "edited"
            case Finish(status):
                self._status = status

    async def _launch(self, command: Launch) -> None:
        step, attempt = command.step, command.attempt
        record = self.context.records[step]
        if (run := self.context.followed.run_of(record)) is not None:
            taking = asyncio.to_thread(run.take, self.context.run, record)
            self._running[step] = asyncio.create_task(taking)
            return
        if attempt > 1 or step not in self._prestarted:
            tier = "" if record.step.call else command.tier
            self.context.emit(StartedEvent(step=step, attempt=attempt, tier=tier))
        ready_at = self._waits_since.pop(step, None)
        work = self.attempts.run_attempt(command, ready_at)
        self._running[step] = asyncio.create_task(work)
        # Or steps that start together would all ask their models after the last one.
        await asyncio.sleep(0)

    async def _resolve(self, command: Decide | Expand | Close) -> list[tuple[Command, Event]]:
        """Work out what the schedule asks for; return what follows, and from which event."""
        match command:
            case Decide(step):
                event = Decided(step, self._expansions.decide(self.context.records[step].step))
                commands = self._decide(event)
                self._report_ready()
                if not event.holds:
                    self._report_skipped(step)
                return [(each, event) for each in commands]
            case Expand(step):
                return await self._expand(step)
            case Close():
                await self._close(command)
                return []

    async def _expand(self, step: str) -> list[tuple[Command, Event]]:
        """Give a step with members those that it gets now."""
        compiled = self.context.records[step].step
        if compiled.pool and step not in self.context.followed.parts:
            self._under_way[step] = asyncio.create_task(self._parts.do(compiled))
            return []
        return self._expanded(await self._expansions.expand(compiled))

    def _expanded(self, event: Expanded) -> list[tuple[Command, Event]]:
        commands = self._decide(event)
        for member in event.steps:
            if member.id in event.done:
                self._report_attempts(member.id)
        self._report_ready()
        return [(each, event) for each in commands]

    async def _close(self, command: Close) -> None:
        step, status = command.step, command.status
        record = self.context.records[step]
        if command.by_condition:
            record.skip_by_condition("its members were skipped by their conditions")
        await self._expansions.close(step, status)
        self._save(step)
        is_failure = status == "skipped" and not command.by_condition
        kind: EndKind = "failed" if is_failure else status
        self.context.emit(_ended(kind, step, None, record.reason or record.summary))

    def _skip(self, command: Skip) -> None:
        record = self.context.records[command.step]
        if command.by_condition:
            record.skip_by_condition(f"{command.cause} was skipped by its condition")
        elif command.cause:
            record.end(f"{command.cause} did not succeed", command.category)
        else:
            record.end(self.asking.rejection)
        self._report_skipped(command.step)

    def _report_skipped(self, step: str) -> None:
        self._save(step)
        self.context.emit(_ended("skipped", step, None, self.context.records[step].reason))

    def _save(self, step: str) -> None:
        save_step(self.context.run, self.context.records[step])

    def _report_ready(self) -> None:
        """Emit the steps that have become ready; those that start immediately are ready too."""
        fresh, self._fresh = self._fresh, []
        for step in fresh:
            self.context.emit(ReadyEvent(step=step))

    def _note_ready(self, step: str, status: StepStatus) -> None:
        if status == "ready":
            self._waits_since.setdefault(step, self.clock())
        if status in ("ready", "running") and step not in self._ready:
            self._ready.add(step)
            self._fresh.append(step)

    def _report_attempts(self, step: str) -> None:
        """Tell of the attempts of a step that had succeeded in an earlier process or run."""
        record = self.context.records[step]
        if record.taken_from is not None:
            self.context.emit(_ended("succeeded", step, None, record.taken_from.words))
            return
        *failed, last = record.attempts
        for attempt in failed:
            self.context.emit(_ended("retrying", step, attempt))
        self.context.emit(_ended("succeeded", step, last))

    def _report_end(self, event: AttemptFinished) -> None:
        record = self.context.records[event.step]
        attempt = record.attempts[-1] if record.attempts else None
        is_given_up = event.outcome == "cancelled" and event.step in self._given_up
        kind = "skipped" if is_given_up else _ENDINGS[event.outcome]
        self.context.emit(_ended(kind, event.step, attempt, record.reason))


def _ended(kind: EndKind, step: str, attempt: Attempt | None, reason: str = "") -> EndedEvent:
    if attempt is None:
        return EndedEvent(kind=kind, step=step, reason=excerpt(reason))
    usage = attempt.usage
    return EndedEvent(
        kind=kind,
        step=step,
        attempt=attempt.number,
        agent=attempt.agent,
        tier=attempt.tier,
        model=attempt.model,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        queue_s=attempt.queue_s,
        checks_s=attempt.checks_s,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        category=attempt.category or "",
        reason=excerpt(reason),
    )
