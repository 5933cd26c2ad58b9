"""Keep the run's pages in the Prefect UI: the plan from its compilation on, then the timeline."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from prefect.artifacts import acreate_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate

from ..events.kinds import RunEvent, TextEvent
from ..result import SwarmResult
from ..tasks.report.pages import DagStep, dag_markdown, timeline_markdown
from .compile import CompiledPlan
from .events import UNFINISHED, StepStatus
from .records import StepRecord

__all__ = ["DagPage", "dag_steps", "publish_timeline"]

_logger = logging.getLogger(__name__)
_REFRESH_S = 2.0  # an update costs the server about 50 ms, so a busy run gets one now and then


def dag_steps(
    records: Mapping[str, StepRecord],
    statuses: Mapping[str, StepStatus],
    critical: frozenset[str] = frozenset(),
) -> tuple[DagStep, ...]:
    """Return every step as it is now, with its status and the reason for it. Pure."""
    return tuple(
        DagStep(
            id=name,
            agent=record.step.agent,
            prompt=record.step.prompt,
            upstream=record.step.upstream,
            status=statuses[name],
            why=_why(record.step.upstream, statuses, statuses[name], _reason(record)),
            critical=name in critical,
            change=record.change,
            planned=record.before,
        )
        for name, record in records.items()
    )


def _reason(record: StepRecord) -> str:
    return record.taken_from.words if record.taken_from else record.reason


def _why(
    upstream: tuple[str, ...],
    statuses: Mapping[str, StepStatus],
    status: StepStatus,
    reason: str,
) -> str:
    if status == "waiting":
        missing = [name for name in upstream if statuses[name] in UNFINISHED]
        return f"waits for {', '.join(missing[:8])}{' …' if len(missing) > 8 else ''}"
    if status == "asked":
        return f"waits for a person{f'; {reason}' if reason else ''}"
    if status == "ready":
        return f"waits for a free slot{f'; {reason}' if reason else ''}"
    return reason


@dataclass(slots=True)
class DagPage:
    """The plan's artifact. `hear` marks it stale; a task of its own brings it up to date.

    `shown` says which memories the planner was shown.
    """

    plan: CompiledPlan
    records: Mapping[str, StepRecord]
    statuses: Callable[[], Mapping[str, StepStatus]]
    run_id: str
    shown: str = ""
    _artifact: UUID | None = None
    _stale: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _storing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def start(self) -> None:
        """Publish the page and keep it up to date, beside the run."""
        self._task = asyncio.create_task(self._keep())

    def hear(self, event: RunEvent) -> None:
        """Take note that something changed."""
        if not isinstance(event, TextEvent):
            self._stale.set()

    async def close(self, critical: frozenset[str]) -> None:
        """Publish the last state, the critical path marked."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._publish(critical)

    async def _keep(self) -> None:
        while True:
            self._stale.clear()
            await self._publish(frozenset())
            await asyncio.sleep(_REFRESH_S)
            await self._stale.wait()

    async def _publish(self, critical: frozenset[str]) -> None:
        steps = dag_steps(self.records, self.statuses(), critical)
        page = dag_markdown(self.plan.objective, steps, self.shown)
        await asyncio.shield(self._store(page))

    async def _store(self, page: str) -> None:
        try:
            async with self._storing:
                await self._put(page)
        except Exception as error:  # noqa: BLE001 - a page that can't be drawn must not cost the run
            _logger.warning("The plan's page could not be updated: %s", error)

    async def _put(self, page: str) -> None:
        if self._artifact is None:
            self._artifact = await acreate_markdown_artifact(
                page, key=f"swarm-plan-{self.run_id}", description="The plan and how far it is"
            )
        else:
            async with get_client() as client:
                await client.update_artifact(self._artifact, ArtifactUpdate(data=page))


async def publish_timeline(result: SwarmResult) -> None:
    """Publish the timeline of an ended run."""
    try:
        await acreate_markdown_artifact(
            timeline_markdown(result),
            key=f"swarm-timeline-{result.run_id}",
            description="Timeline, critical path and slack",
        )
    except Exception as error:  # noqa: BLE001 - the result is worth more than its page
        _logger.warning("The timeline's page could not be made: %s", error)
