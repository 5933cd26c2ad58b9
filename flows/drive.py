"""Carry out the schedule's commands through Prefect, and tell it what became of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Category
from .attempt import Attempts
from .bounds.limits import concurrency_limits
from .context import RunContext
from .control import Progress, RunControl
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

_ENDINGS: Mapping[str, Any] = {
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
    """

    context: RunContext
    attempts: Attempts
    control: RunControl
    tell: Callable[[Progress], None]
    restored: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.time
    _schedule: Schedule = field(init=False)
    _running: dict[str, asyncio.Task[AttemptFinished]] = field(
        init=False, default_factory=dict[str, "asyncio.Task[AttemptFinished]"]
    )

    def __post_init__(self) -> None:
        limits = concurrency_limits(self.context.options, self.context.models)
        self._schedule = Schedule(limits)

    @property
    def statuses(self) -> dict[str, StepStatus]:
        """Every step's status now."""
        return self._schedule.statuses

    async def drive(self) -> RunStatus:
        """Run the plan to its end."""
        cancel = asyncio.create_task(self.control.cancel.wait())
        watched: set[asyncio.Task[bool]] = {cancel}
        try:
            plan = PlanExtended(self.context.plan.steps, self.restored)
            commands = self._schedule.advance(plan)
            for step in self.restored:
                self._report_attempts(step)
            status = await self._carry_out(commands)
            while status is None:
                done, _ = await asyncio.wait(
                    {*self._running.values(), *watched}, return_when=asyncio.FIRST_COMPLETED
                )
                if watched & done:
                    watched.clear()
                    status = await self._carry_out(self._schedule.advance(Cancelled()))
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
                    self._report("launched", step, f"attempt {attempt} on {tier}")
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
        self._report("skipped", step, record.reason)

    def _save(self, step: str) -> None:
        save_step(self.context.run, self.context.records[step], self.statuses[step])

    def _report_attempts(self, step: str) -> None:
        """Tell of the attempts of a step that had succeeded in an earlier process."""
        *failed, last = self.context.records[step].attempts
        for attempt in failed:
            self.tell(Progress("retrying", self.clock(), step=step, attempt=attempt))
        self.tell(Progress("succeeded", self.clock(), step=step, attempt=last))

    def _report_end(self, event: AttemptFinished) -> None:
        record = self.context.records[event.step]
        attempt = record.attempts[-1] if record.attempts else None
        self.tell(
            Progress(
                kind=_ENDINGS[event.outcome],
                at=self.clock(),
                step=event.step,
                text=record.reason,
                attempt=attempt,
            )
        )

    def _report(self, kind: Any, step: str, text: str) -> None:
        self.tell(Progress(kind=kind, at=self.clock(), step=step, text=text))
