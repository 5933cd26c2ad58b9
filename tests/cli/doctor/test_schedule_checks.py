"""The doctor says where a schedule is on and the server makes no run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule, RRuleSchedule
from prefect_swarm.cli.doctor.prefect_checks import Scheduled, findings, read_scheduled
from prefect_swarm.flows.batch import swarm_batch

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)


def test_a_schedule_without_runs_to_come_is_named() -> None:
    scheduled = [Scheduled("swarm-batch/nightly", LONG_AGO, 0), Scheduled("a/b", LONG_AGO, 3)]
    (check,) = findings(scheduled, NOW)
    assert check.status == "warn"
    assert check.detail.startswith("swarm-batch/nightly: a schedule is on")
    assert "log of the Prefect server" in check.fix


def test_a_schedule_that_was_made_just_now_is_not() -> None:
    (check,) = findings([Scheduled("swarm-batch/nightly", NOW, 0)], NOW)
    assert check.status == "ok"


def test_a_server_without_schedules_needs_no_line() -> None:
    assert list(findings([], NOW)) == []


@pytest.mark.usefixtures("prefect_server")
def test_the_runs_to_come_are_those_of_the_server() -> None:
    daily = IntervalSchedule(interval=timedelta(days=1))
    far = datetime.now(UTC) + timedelta(days=200)
    over = RRuleSchedule(rrule="DTSTART:20200101T000000Z\nRRULE:FREQ=DAILY;COUNT=1")
    noon = CronSchedule(cron="0 12 * * *", timezone="Europe/Berlin")
    schedules = (
        ("on", daily, True),
        ("noon", noon, True),
        ("off", daily, False),
        ("yearly", CronSchedule(cron=f"0 2 {far.day} {far.month} *"), True),
        ("over", over, True),
    )

    async def read() -> dict[str, Scheduled]:
        async with get_client() as client:
            flow_id = await client.create_flow(swarm_batch)
            for name, schedule, active in schedules:
                await client.create_deployment(
                    flow_id=flow_id,
                    name=f"{name}-{key}",
                    schedules=[DeploymentScheduleCreate(schedule=schedule, active=active)],
                )
            return {found.name: found for found in await read_scheduled(client)}

    key = uuid4().hex
    found = asyncio.run(read())
    ours = {name.removesuffix(f"-{key}") for name in found if name.endswith(key)}
    assert ours == {"swarm-batch/on", "swarm-batch/noon"}
