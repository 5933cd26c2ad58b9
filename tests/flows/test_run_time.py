"""The time breakdown of a real run."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest
from flow_runs import plan_of, run
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.metrics.clock import RunTime, seconds_by_kind
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from provider_runs import InTurn, run_at, serving, works
from provider_server import Reply
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

CHAIN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
_BUSY = Reply(status=429, headers={"retry-after": "1"}, error={"message": "Rate limit reached."})
_DELAY_S = 0.4


def time_of(result: SwarmResult) -> RunTime:
    """The run's time, which fills it."""
    spent = result.time
    assert spent is not None
    assert result.metrics.total_s == spent.total_s
    assert sum(spent.seconds.values()) == pytest.approx(spent.total_s, abs=1e-6)
    assert all(a.ended_at == b.started_at for a, b in pairwise(spent.stretches))
    return spent


def makespan(result: SwarmResult) -> float:
    """The seconds that the stretches have of the steps' own time."""
    tries = [attempt for step in result.steps for attempt in step.attempts]
    first = min(attempt.started_at for attempt in tries)
    last = max(attempt.checked_at for attempt in tries)
    return sum(seconds_by_kind(time_of(result).stretches, first, last).values())


def breaks_once() -> Script:
    """Break at the first request: that is tried again after a delay."""
    answers = iter([RuntimeError("The cooling has failed.")])
    return Script(lambda prompt: next(answers, f"about: {prompt[-40:]}"))


def test_a_busy_provider_and_a_retrys_delay_are_waited_for() -> None:
    with serving(InTurn([_BUSY, Reply("It is deep.")])) as server:
        busy = run_at(server, CHAIN)
    assert time_of(busy).seconds["provider"] >= 1
    assert makespan(busy) == pytest.approx(busy.metrics.makespan_s, abs=1e-6)
    with scripted(breaks_once()):
        broken = run(CHAIN, memory=False, policy={"backoff_s": _DELAY_S})
    spent = time_of(broken)
    assert spent.seconds["delay"] >= _DELAY_S
    assert [each.attempt for each in spent.stretches if each.kind == "delay"] == [2]
    assert spent.path == ("S1", "S2")
    assert makespan(broken) == pytest.approx(broken.metrics.makespan_s, abs=1e-6)


def test_gates_are_a_part_of_the_makespan_and_of_a_steps_work() -> None:
    plan = plan_of({"id": "S1", "output": {"kind": "python"}})
    with scripted(Script(lambda _: "```python\nPRIMES = (2, 3, 5)\n```")):
        result = run(plan, memory=False)
    (step,) = result.steps
    checked_s = time_of(result).seconds["gate"]
    assert step.work_s == pytest.approx(step.attempts[0].duration_s + checked_s, abs=1e-6)
    assert result.metrics.critical_path_s == step.work_s
    assert makespan(result) == pytest.approx(result.metrics.makespan_s, abs=1e-6)


def test_steps_that_have_to_come_after_others_wait_for_a_slot() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"}, {"id": "S3"})
    with scripted(Script()):
        result = run(plan, memory=False, max_concurrency=1)
    assert {each.step for each in time_of(result).stretches if each.kind == "slot"} == {"S3"}


def test_what_comes_before_and_after_the_steps_has_its_time() -> None:
    with serving(works) as server:
        result = run_at(server, plan_of({"id": "S1"}, {"id": "S2"}))
    kinds = [each.kind for each in time_of(result).stretches]
    assert kinds[0] == "start"
    assert kinds[-1] in ("answer", "prefect")
    assert "answer" in kinds, "the outputs of two steps are joined by the orchestrator"


def test_a_run_that_was_left_for_a_person_waits_for_them() -> None:
    with scripted(Script()):
        error = _left(CHAIN)
        approvals = Approvals(RunFolder.find(error.run_id))
        approvals.answer(Answer(question="plan", verdict="approved", by="command", at=time.time()))
        result = asyncio.run(resume(error.run_id))
    seconds = time_of(result).seconds
    assert "person" in seconds
    assert "stopped" in seconds
    assert RunFolder.find(error.run_id).result() == result


def _left(plan: TaskIR) -> RunWaitingError:
    options = SwarmOptions(approve=("plan",), memory=False)
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(swarm(plan.objective, plan=plan, options=options))
    return caught.value
