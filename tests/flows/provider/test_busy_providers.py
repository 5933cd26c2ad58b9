"""A provider that is busy or breaks is asked again in one place, and waiting is not work."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import Category
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.store.events import RunEvent, WaitEvent
from provider_runs import InTurn, end_at, hurried, run_at, serving, works
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_BUSY = Reply(status=429, headers={"retry-after": "1"}, error={"message": "Rate limit reached."})
_BROKEN = Reply(status=500, error={"message": "The cooling has failed."})


def busy_first(refusals: int) -> Callable[[Asked], Reply]:
    """Refuse the first requests, and serve all that come later."""
    left = threading.Semaphore(refusals)
    return lambda asked: _BUSY if left.acquire(blocking=False) else works(asked)


def test_a_refusal_for_now_costs_no_attempt() -> None:
    with serving(busy_first(2)) as server:
        result = run_at(server, _ONE)
    assert len(result.steps[0].attempts) == 1
    assert result.steps[0].attempts[0].category is None
    assert len(server.asked) == 3


def test_a_wait_for_a_provider_is_no_work() -> None:
    with serving(busy_first(1)) as server:
        result = run_at(server, _ONE)
    (attempt,) = result.steps[0].attempts
    assert attempt.queue_s >= 1
    assert attempt.duration_s == pytest.approx(
        attempt.ended_at - attempt.started_at - attempt.queue_s
    )
    assert result.metrics.wait_s == pytest.approx(attempt.queue_s)


def test_a_wait_for_a_provider_counts_for_no_deadline() -> None:
    with serving(busy_first(1)) as server:
        result = run_at(server, _ONE, step_timeout_s=0.9)
    assert result.steps[0].attempts[0].category is None


def test_a_wait_for_a_provider_is_told_with_its_name() -> None:
    heard: list[RunEvent] = []
    with serving(busy_first(1)) as server, controlled(RunControl(listener=heard.append)):
        run_at(server, _ONE)
    host = server.url.removeprefix("http://").removesuffix("/v1")
    waits = [each for each in heard if isinstance(each, WaitEvent)]
    assert [(each.kind, each.step) for each in waits] == [("waiting", "S1"), ("resumed", "S1")]
    assert f"waiting for {host} (rate limit)" in waits[0].words


def test_every_request_is_a_success_or_a_refusal() -> None:
    plan = plan_of(*({"id": f"S{number}"} for number in range(1, 9)), final_step="S8")
    with serving(busy_first(5)) as server:
        result = run_at(server, plan)
    assert result.status == "completed"
    assert [len(step.attempts) for step in result.steps] == [1] * 8
    assert len(server.asked) == 8 + 5


def test_an_error_of_the_server_is_asked_again_within_the_attempt() -> None:
    with serving(InTurn([_BROKEN, Reply("It is deep.")])) as server:
        result = run_at(server, _ONE)
    assert [attempt.category for attempt in result.steps[0].attempts] == [None]
    assert len(server.asked) == 2


def test_a_server_that_stays_broken_is_given_up_after_ten_minutes() -> None:
    with serving(lambda _: _BROKEN) as server, hurried(server) as slept:
        result = end_at(server, _ONE)
    (step,) = result.steps
    assert (step.status, step.category) == ("failed", Category.UNAVAILABLE)
    assert "500: The cooling has failed." in step.reason
    assert [attempt.category for attempt in step.attempts] == [Category.UNAVAILABLE]
    assert 540 < sum(slept) <= 600


@pytest.mark.parametrize("broken", [_BROKEN, Reply(cut=True), Reply(status=502, raw=b"<html>")])
def test_no_step_fails_in_a_storm(broken: Reply) -> None:
    plan = plan_of(*({"id": f"S{number}"} for number in range(1, 11)), final_step="S10")
    left = threading.Semaphore(12)
    with (
        serving(lambda asked: broken if left.acquire(blocking=False) else works(asked)) as server,
        hurried(server),
    ):
        result = run_at(server, plan)
    assert result.status == "completed"
    assert [len(step.attempts) for step in result.steps] == [1] * 10
    assert len(server.asked) == 10 + 12


def test_a_long_wait_is_told_in_the_providers_words() -> None:
    heard: list[RunEvent] = []
    with (
        serving(InTurn([*[_BROKEN] * 5, Reply("It is deep.")])) as server,
        hurried(server),
        controlled(RunControl(listener=heard.append)),
    ):
        run_at(server, _ONE)
    waits = [each.words for each in heard if isinstance(each, WaitEvent) and each.words]
    assert "500: The cooling has failed" not in waits[0]
    assert "(server error: 500: The cooling has failed)" in waits[-1]
