"""Carry out the schedule's commands through Prefect, and tell it what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..errors import Category
from ..events.kinds import EndedEvent, ReadyEvent, StartedEvent, Tell
from ..result import Attempt, excerpt
from .attempt import Attempts
from .bounds.limits import concurrency_limits
from .context import RunContext
from .control import RunControl
from .events import (
    AttemptFinished,
    Cancel,
    Cancelled,
    Command,
    Finish,
    Launch,
    PlanExtended,
    RunStatus,
    Skip,
    StepStatus,
)
from .records import save_step
from .schedule import Schedule

__all__ = ["Driver"]

_Kind = Literal["retrying", "succeeded", "failed", "skipped", "cancelled"]
_ENDINGS: Mapping[str, _Kind] = {
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
        restored: Ids of the steps that had succeeded in an earlier process.
        begun: Ids of the steps whose first attempt has been told to have started.
    """

    context: RunContext
    attempts: Attempts
    control: RunControl
    tell: Tell
    restored: frozenset[str] = frozenset()
    begun: frozenset[str] = frozenset()
    _schedule: Schedule = field(init=False)
    _running: dict[str, asyncio.Task[AttemptFinished]] = field(
        init=False, default_factory=dict[str, "asyncio.Task[AttemptFinished]"]
    )
    _ready: set[str] = field(init=False, default_factory=set[str])

    def __post_init__(self) -> None:
        limits = concurrency_limits(self.context.options, self.context.models)
        self._schedule = Schedule(limits)
        self._ready.update(self.begun)

    @property
    def statuses(self) -> dict[str, StepStatus]:
        """Every step's status now."""
        return self._schedule.statuses

    async def drive(self) -> RunStatus:
        """Run the plan to its end."""
        cancel = asyncio.create_task(self.control.cancel.wait())
        watched: set[asyncio.Task[bool]] = {cancel}
        try:
            ahead = self.context.ahead
            under_way = ahead.under_way if ahead else frozenset[str]()
            plan = PlanExtended(self.context.plan.steps, self.restored, under_way)
            commands = self._advance(plan)
            for step in self.restored:
                self._report_attempts(step)
            status = await self._carry_out(commands)
            while status is None:
                done, _ = await asyncio.wait(
                    {*self._running.values(), *watched}, return_when=asyncio.FIRST_COMPLETED
                )
                if watched & done:
                    watched.clear()
                    status = await self._carry_out(self._advance(Cancelled()))
                status = await self._take_ended() or status
        finally:
            cancel.cancel()
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            self.attempts.spans.close()
        return status

    async def _take_ended(self) -> RunStatus | None:
        status: RunStatus | None = None
        for step, task in list(self._running.items()):
            if not task.done():
                continue
            del self._running[step]
            event = self._event(step, task)
            commands = self._schedule.advance(event)
            self._save(step)
            self._report_end(event)
            self._report_ready()
            status = await self._carry_out(commands) or status
        return status

    def _event(self, step: str, task: asyncio.Task[AttemptFinished]) -> AttemptFinished:
        if task.cancelled():
            self.context.records[step].end("cancelled")
            return AttemptFinished(step, "cancelled")
        if error := task.exception():
            # SIGTERM, raised in what the step just did: it is meant for the run.
            if not isinstance(error, Exception):
                raise error
            # A full disk, a server that went away: it costs this step, not what others have done.
            self.context.records[step].end(repr(error), Category.INFRASTRUCTURE)
            return AttemptFinished(step, "failed")
        return task.result()

    async def _carry_out(self, commands: Sequence[Command]) -> RunStatus | None:
        status: RunStatus | None = None
        for command in commands:
            match command:
                case Launch(step, attempt, tier):
                    if attempt > 1 or step not in self.begun:
                        self.tell(StartedEvent(step=step, attempt=attempt, tier=tier))
                    self._running[step] = asyncio.create_task(self.attempts.run_attempt(command))
                    # Or steps that start together would all ask their models after the last one.
                    await asyncio.sleep(0)
                case Skip(step, cause, category):
                    self._skip(step, cause, category)
                case Cancel(step):
                    self._running[step].cancel()
                case Finish(status):
                    pass
        return status

    def _skip(self, step: str, cause: str, category: Category) -> None:
        record = self.context.records[step]
        record.end(f"{cause} did not succeed", category)
        self._save(step)
        self.tell(_ended("skipped", step, None, record.reason))

    def _save(self, step: str) -> None:
        save_step(self.context.run, self.context.records[step], self.statuses[step])

    def _advance(self, event: PlanExtended | Cancelled) -> Sequence[Command]:
        commands = self._schedule.advance(event)
        self._report_ready()
        return commands

    def _report_ready(self) -> None:
        """Tell of the steps that have become ready; those that start at once are ready too."""
        for step, status in self.statuses.items():
            if status in ("ready", "running") and step not in self._ready:
                self._ready.add(step)
                self.tell(ReadyEvent(step=step))

    def _report_attempts(self, step: str) -> None:
        """Tell of the attempts of a step that had succeeded in an earlier process."""
        *failed, last = self.context.records[step].attempts
        for attempt in failed:
            self.tell(_ended("retrying", step, attempt))
        self.tell(_ended("succeeded", step, last))

    def _report_end(self, event: AttemptFinished) -> None:
        record = self.context.records[event.step]
        attempt = record.attempts[-1] if record.attempts else None
        self.tell(_ended(_ENDINGS[event.outcome], event.step, attempt, record.reason))


def _ended(kind: _Kind, step: str, attempt: Attempt | None, reason: str = "") -> EndedEvent:
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
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        category=attempt.category or "",
        reason=excerpt(reason),
    )
