"""Only unanswered requests are repeated when a run is resumed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from flow_runs import plan_of
from prefect.exceptions import CancelledRun
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.store.events import RunEvent
from provider_server import Asked, Reply, provider_server

pytestmark = pytest.mark.usefixtures("prefect_server")


def test_a_step_that_was_refused_before_a_run_was_cancelled_is_asked_again(
    swarm_home: Path,
) -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"}, {"id": "S3", "depends_on": ["S1"]})
    refusing, late = True, threading.Event()
    names: list[str] = []
    control = RunControl(lambda event: handle(event))

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            names.append(event.run)
        if event.kind == "failed":
            control.cancel.set()

    def reply(asked: Asked) -> Reply:
        if refusing and "do S2" in asked.prompt:
            return Reply(status=400, error={"message": "not today"})
        # S3 is what runs when the run is cancelled.
        return Reply("done", hold=late if refusing and "do S3" in asked.prompt else None)

    with provider_server(reply, models=("strong-model",)) as server:
        options = SwarmOptions(model=server.name(), memory=False)
        with controlled(control), pytest.raises(CancelledRun):
            asyncio.run(swarm("Find out", plan=plan, options=options))
        refusing = False
        late.set()
        before = len(server.asked)
        result = asyncio.run(resume(names[0]))
        again = [asked.prompt for asked in server.asked[before:]]
    assert result.status == "completed"
    assert any("do S2" in prompt for prompt in again)
    assert not any(prompt.endswith("do S1") for prompt in again if "do S3" not in prompt)
