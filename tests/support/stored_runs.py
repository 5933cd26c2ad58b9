"""Runs as they lie in the data folder, made without a server; and guards for what may hang."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from eval_results import swarm_result
from prefect_swarm.flows.stored_plan import StoredPlanning, save
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.settings import home
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.events import BeganEvent, FinishedEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import run_id_of
from prefect_swarm.store.question import Question
from prefect_swarm.store.result import Planning
from prefect_swarm.store.step import StepState
from prefect_swarm.tasks.planner.task import Planned

__all__ = ["not_hanging", "stored_run"]


def stored_run(flow_run_id: str, *, ended: bool = True, at: float = 1e9) -> RunFolder:
    """A run of one step, with all files that a run of it has; without an end it asks something."""
    run = RunFolder(home() / "runs" / run_id_of(flow_run_id))
    result = swarm_result("So it is.").model_copy(
        update={"run_id": run.run_id, "flow_run_id": flow_run_id}
    )
    plan, step = result.plan, result.steps[0]
    attempt = Attempt(
        number=1, tier="worker", model="m", started_at=at, ended_at=at + 1, agent=step.agent
    )
    step = StepState.model_validate({**step.model_dump(), "attempts": [attempt]})
    result = result.model_copy(update={"steps": (step,)})
    about = {"flow_run_id": flow_run_id, "objective": "Compare", "started_at": at, "options": {}}
    run.write("run.json", about)
    run.append("accounts.jsonl", about)
    run.write("plan.json", compile_plan(plan).to_json())
    save(run, StoredPlanning(planned=Planned(plan=plan, planning=Planning(source="user"))))
    run.write("outputs/S1.txt", "So it is.")
    run.write("transcripts/S1.1.json", [])
    run.write("artifacts/S1/1/plot.txt", "a plot")
    run.save_step(step)
    with run.event_log() as log:
        log.add(BeganEvent(at=at), flow_run_id)
        if ended:
            log.add(FinishedEvent(status="completed", at=at + 2), flow_run_id)
    if ended:
        run.write("result.json", result)
    else:
        Approvals(run).ask(Question(id="plan", asked="plan", title="Run it?", at=at))
    return run


@contextmanager
def not_hanging(seconds: int = 60) -> Generator[None]:
    """Fail where what is done never returns."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"It hangs, at {frame}.")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
