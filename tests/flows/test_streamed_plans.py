"""Steps start while their plan is still being written, and the run is the same otherwise."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from prefect.exceptions import CancelledRun
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.store.events import RunEvent
from provider_runs import planned, serving
from provider_server import Asked, Reply
from streamed_plans import (
    LAST_PIECES,
    OBJECTIVE,
    PLAN,
    TASKS,
    Streaming,
    finding,
    kinds,
    steps_asked,
)

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def test_the_first_step_is_asked_before_the_plan_is_finished() -> None:
    reply = Streaming(waits_before=LAST_PIECES)
    with serving(reply) as server:
        result = planned(server, OBJECTIVE)
    happened = kinds(result)
    assert happened.index(("started", "S1")) < happened.index(("planned", ""))
    assert result.status == "completed"
    assert len(server.asked) == 5


OWN = {
    *("run_id", "flow_run_id", "task_runs", "output_ref", "metrics", "critical", "slack_s"),
    *("started_at", "ended_at", "queue_s", "duration_s", "cached"),
    *("time", "stretches", "ready_at", "launched_at"),
}
"""What each run has of its own: names, times, and whether a gate had seen the same before."""


def comparable(found: Any) -> Any:
    """All of a result but what each run has of its own."""
    match found:
        case dict():
            fields = cast("dict[str, Any]", found)
            return {name: comparable(value) for name, value in fields.items() if name not in OWN}
        case list():
            return [comparable(value) for value in cast("list[Any]", found)]
        case _:
            return found


def test_the_finished_run_is_the_same_as_without() -> None:
    with serving(Streaming(waits_before=LAST_PIECES)) as server:
        streamed = planned(server, OBJECTIVE)
    with serving(Streaming()) as other:
        plain = planned(other, OBJECTIVE, stream_plan=False)
    assert kinds(streamed).index(("started", "S1")) < kinds(streamed).index(("planned", ""))
    assert comparable(streamed.model_dump(mode="json")) == comparable(plain.model_dump(mode="json"))
    assert steps_asked(server.asked) == steps_asked(other.asked)


def test_a_plan_that_breaks_off_is_asked_for_again_and_no_step_is() -> None:
    reply = Streaming(waits_before=LAST_PIECES)
    breaks = iter([True])

    def break_once(number: int) -> None:
        reply.wait(number)
        if number == LAST_PIECES and next(breaks, False):
            raise ConnectionResetError

    def answer(asked: Asked) -> Reply:
        if asked.is_plan:
            return Reply(tool_args=PLAN, before_piece=break_once)
        return reply(asked)

    with serving(answer) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    assert [each.is_plan for each in server.asked].count(True) == 2
    assert steps_asked(server.asked) == sorted(task["prompt"] for task in TASKS)


def test_a_plan_that_becomes_invalid_is_repaired_and_no_step_is_asked_again() -> None:
    invalid = {**PLAN, "assign_task": [*TASKS[:3], {**TASKS[3], "agent": "Stranger"}]}
    reply = Streaming(invalid, waits_before=LAST_PIECES)

    def answer(asked: Asked) -> Reply:
        if asked.is_plan and "Write the whole plan again" in asked.prompt:
            return Reply(tool_args=PLAN)
        return reply(asked)

    with serving(answer) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    assert len(steps_asked(server.asked)) == 4


def test_what_the_plan_does_not_need_is_paid_for_and_ends_as_cancelled() -> None:
    first = {**PLAN, "assign_task": [*TASKS[:3], {**TASKS[3], "agent": "Stranger"}]}
    second = {**PLAN, "assign_task": [{"agent": "Reader", "prompt": "Describe all of them"}]}
    reply = Streaming(first, waits_before=LAST_PIECES)

    def answer(asked: Asked) -> Reply:
        if asked.is_plan and "Write the whole plan again" in asked.prompt:
            return Reply(tool_args=second)
        return reply(asked)

    with serving(answer) as server:
        result = planned(server, OBJECTIVE)
    assert [step.id for step in result.steps] == ["S1"]
    assert ("cancelled", "S1") in kinds(result)
    assert result.cost.calls >= 4


def test_a_run_that_ends_while_it_plans_asks_no_answered_step_again_when_resumed() -> None:
    names: list[str] = []
    answered = threading.Event()

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            names.append(event.run)
        if (event.kind, event.step) == ("spent", "S1"):
            answered.set()
            control.cancel.set()

    control = RunControl(handle)

    def wait(number: int) -> None:
        if number == LAST_PIECES:
            answered.wait(30)

    def answer(asked: Asked) -> Reply:
        return Reply(tool_args=PLAN, before_piece=wait) if asked.is_plan else finding(asked)

    with serving(answer) as server:
        with controlled(control), pytest.raises(CancelledRun):
            planned(server, OBJECTIVE)
        result = asyncio.run(resume(names[0]))
    assert result.status == "completed"
    assert steps_asked(server.asked).count("Describe tea") == 1
    # Both plans, the four steps, and what was under way when the run was cancelled.
    assert result.cost.calls >= 5


def test_with_a_memory_each_step_is_asked_once_as_well() -> None:
    for _ in range(2):
        with serving(Streaming(waits_before=LAST_PIECES)) as server:
            result = planned(server, OBJECTIVE, memory=True)
        assert result.recall is not None
        assert len(steps_asked(server.asked)) == 4
        assert kinds(result).index(("started", "S1")) < kinds(result).index(("planned", ""))
