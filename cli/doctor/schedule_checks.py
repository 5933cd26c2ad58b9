"""What `doctor` says of schedules: whether a Prefect server makes the runs that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from .check import Check

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

__all__ = ["Scheduled", "findings", "read_scheduled"]

_PATIENCE = timedelta(minutes=3)
"""Prefect's scheduler looks at each deployment once a minute."""
_MOST = 200
_FIX = (
    "Look at the log of the Prefect server, and at the versions on its machine (`prefect-swarm "
    "doctor` there). If the schedule has an end that is over, switch it off."
)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A deployment with a schedule that is on.

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
        yield Check("schedules", "ok", f"{len(scheduled)} deployments, {runs} runs to come")


async def read_scheduled(client: PrefectClient) -> list[Scheduled]:
    """Return the deployments whose schedules are on, 200 at most."""
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
        if deployment.paused or not any(schedule.active for schedule in deployment.schedules):
            continue
        if deployment.flow_id not in flows:
            flows[deployment.flow_id] = (await client.read_flow(deployment.flow_id)).name
        only = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
        runs = await client.read_flow_runs(flow_run_filter=ahead, deployment_filter=only)
        name = f"{flows[deployment.flow_id]}/{deployment.name}"
        changed = deployment.updated or deployment.created or datetime.now(UTC)
        found.append(Scheduled(name, changed, len(runs)))
    return found
