"""A plan whose stream breaks for good: it is planned on, or ends with what was complete of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from prefect_swarm.errors import NoPlanError, UnavailableError
from prefect_swarm.settings import home
from prefect_swarm.store.folder import RunFolder
from provider_runs import planned, serving
from provider_server import Asked, Reply
from streamed_plans import LAST_PIECES, OBJECTIVE, PLAN, TASKS, finding, kinds, steps_asked

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

# A status that each request is tried again for, without a wait.
DOWN = Reply(status=500, headers={"retry-after": "0"})
FIRST = [task["prompt"] for task in TASKS[:3]]


@dataclass
class Breaking:
    """Streams a plan up to a piece, once three steps were asked; no stream is answered after that.

    Attributes:
        without: What a request for a plan is answered that isn't for a stream.
    """

    without: Callable[[Asked], Reply]
    last: int = LAST_PIECES
    asked: set[str] = field(default_factory=set[str])
    three: threading.Event = field(default_factory=threading.Event)
    broke: threading.Event = field(default_factory=threading.Event)

    def __call__(self, asked: Asked) -> Reply:
        if not asked.is_plan:
            self.asked.add(asked.prompt)
            if len(self.asked) == len(FIRST):
                self.three.set()
            return finding(asked)
        if not asked.body.get("stream"):
            return self.without(asked)
        return DOWN if self.broke.is_set() else Reply(tool_args=PLAN, before_piece=self.breaks)

    def breaks(self, number: int) -> None:
        if number == self.last:
            assert self.three.wait(30) or self.last < LAST_PIECES
            self.broke.set()
            raise ConnectionResetError


def plans(asked: list[Asked]) -> list[Asked]:
    return [each for each in asked if each.is_plan]


def test_the_plan_is_asked_for_without_a_stream_and_no_step_is_asked_again() -> None:
    with serving(Breaking(lambda _: Reply(tool_args=PLAN))) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    assert steps_asked(server.asked) == sorted(task["prompt"] for task in TASKS)
    assert [step.id for step in result.steps] == ["S1", "S2", "S3", "S4"]
    last = plans(server.asked)[-1]
    assert not last.body.get("stream")
    assert "broke off" in last.prompt
    assert all(prompt in last.texts[-2] for prompt in FIRST)


def test_what_broke_before_a_step_was_complete_is_asked_for_as_at_first() -> None:
    reply = Breaking(lambda _: Reply(tool_args=PLAN), last=3)
    reply.three.set()
    with serving(reply) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    first, *_, last = plans(server.asked)
    assert last.texts == first.texts


def test_where_that_fails_too_the_run_ends_partial_with_the_complete_steps() -> None:
    with serving(Breaking(lambda _: DOWN)) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "partial"
    assert "The plan broke off" in result.problem
    assert result.planning.model == "openai:strong-model"
    assert [step.status for step in result.steps] == ["succeeded"] * 3
    steps = [each for each in server.asked if "Write the final answer" not in each.prompt]
    assert steps_asked(steps) == sorted(FIRST)


def test_what_planning_on_changed_is_withdrawn_and_stays_paid() -> None:
    other = {**PLAN, "assign_task": [{"agent": "Reader", "prompt": "Describe all"}]}
    with serving(Breaking(lambda _: Reply(tool_args=other))) as server:
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    assert [step.id for step in result.steps] == ["S1"]
    assert ("cancelled", "S2") in kinds(result)
    assert result.cost.calls >= 2


def test_a_run_without_a_plan_says_what_was_asked_ahead_and_what_it_took() -> None:
    tasks = [*TASKS[:3], {**TASKS[3], "agent": "Stranger"}]
    invalid = json.dumps({**PLAN, "assign_task": tasks})
    answered = threading.Semaphore(0)

    def wait(number: int) -> None:
        # Three were answered when a fourth is certain not to come: the piece after them waits.
        if number == LAST_PIECES:
            for _ in FIRST:
                answered.acquire(timeout=30)

    def answer(asked: Asked) -> Reply:
        if asked.is_plan:
            is_first = "Write the whole plan again" not in asked.prompt
            return Reply(tool_args=invalid, before_piece=wait if is_first else None)
        answered.release()
        return finding(asked)

    with serving(answer) as server, pytest.raises(NoPlanError) as caught:
        planned(server, OBJECTIVE)
    assert "S1, S2, S3 had been asked" in str(caught.value)
    assert steps_asked(server.asked) == sorted(FIRST)
    (folder,) = (home() / "runs").iterdir()
    booked = [line for line in RunFolder(folder).lines("accounts.jsonl") if line.get("is_settled")]
    assert {line["step"] for line in booked} == {"S1", "S2", "S3"}


def test_an_unreachable_planner_is_asked_for_a_stream_each_time() -> None:
    with serving(lambda _: DOWN) as server, pytest.raises(UnavailableError):
        planned(server, OBJECTIVE)
    assert all(each.body.get("stream") for each in server.asked)
