"""What `doctor` says of schedules: whether a Prefect server makes the runs that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from ...text import plural
from .check import Check

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

__all__ = ["Scheduled", "findings", "read_scheduled"]

_PATIENCE = timedelta(minutes=3)
"""Prefect's scheduler looks at each deployment once a minute."""
_AHEAD = timedelta(days=90)
"""How far ahead a server schedules runs for sure; it is 100 days unless the server says less."""
_MOST = 200
_FIX = (
    "Look at the log of the Prefect server, and at the versions on its machine (`prefect-swarm "
    "doctor` there)."
)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A deployment with a schedule that is on, and has a date in the next months.

    Attributes:
        name: The flow's and its own, as Prefect's commands take it.
        changed: When it was last changed.
        runs: How many runs are scheduled, or late.
    """

    name: str
    changed: datetime
    runs: int


def findings(scheduled: Sequence[Scheduled], now: datetime) -> Iterable[Check]:
    """Say which schedules bring no run. Pure."""
    idle = [each.name for each in scheduled if not each.runs and now - each.changed > _PATIENCE]
    if idle:
        names = ", ".join(idle)
        detail = f"{names}: a schedule is on, and the server has scheduled no run"
        yield Check("schedules", "warn", detail, _FIX)
    elif scheduled:
        runs = sum(each.runs for each in scheduled)
        detail = f"{plural(len(scheduled), 'deployment')}, {plural(runs, 'run')} to come"
        yield Check("schedules", "ok", detail)


async def read_scheduled(client: PrefectClient) -> list[Scheduled]:
    """Return the deployments whose schedules ask for runs in the next months, 200 at most."""
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterId,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType

    ahead = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    )
    found: list[Scheduled] = []
    flows: dict[UUID, str] = {}
    for deployment in await client.read_deployments(limit=_MOST):
        active = [each.schedule for each in deployment.schedules if each.active]
        if deployment.paused or not any([await _is_due(schedule) for schedule in active]):
            continue
        if deployment.flow_id not in flows:
            flows[deployment.flow_id] = (await client.read_flow(deployment.flow_id)).name
        only = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
        runs = await client.read_flow_runs(flow_run_filter=ahead, deployment_filter=only)
        name = f"{flows[deployment.flow_id]}/{deployment.name}"
        changed = deployment.updated or deployment.created or datetime.now(UTC)
        found.append(Scheduled(name, changed, len(runs)))
    return found


async def _is_due(schedule: BaseModel) -> bool:
    """Say whether a schedule has a date that a server makes a run for by now."""
    from prefect.server.schemas.schedules import SCHEDULE_TYPES

    kind: TypeAdapter[SCHEDULE_TYPES] = TypeAdapter(SCHEDULE_TYPES)
    asked = kind.validate_python(schedule.model_dump(exclude_unset=True))
    now = datetime.now(UTC)
    return bool(await asked.get_dates(n=1, start=now, end=now + _AHEAD))
