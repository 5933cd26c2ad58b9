"""A run's figures hold where the machine's clock is set while it goes on, or before it goes on."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from flow_runs import plan_of, run
from prefect_swarm import resume
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

HOUR = 3600.0
PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})


class Clock:
    """The machine's clock, which can be set."""

    def __init__(self) -> None:
        self.by, self._real = 0.0, time.time

    def __call__(self) -> float:
        return self._real() + self.by


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(time, "time", found)
    return found


def _hold(result: SwarmResult) -> None:
    """Assert that the figures are those of a run of some seconds."""
    metrics = result.metrics
    assert 0 < metrics.work_s <= metrics.makespan_s <= metrics.total_s < HOUR / 2
    assert metrics.speedup == pytest.approx(metrics.work_s / metrics.makespan_s)
    for step in result.steps:
        for attempt in step.attempts:
            assert 0 <= attempt.duration_s < HOUR / 2
            assert attempt.started_at <= attempt.ended_at


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_a_clock_that_is_set_in_the_middle(
    clock: Clock, by: float, caplog: pytest.LogCaptureFixture
) -> None:
    def reply(prompt: str) -> str:
        clock.by = by
        return f"about {prompt[-10:]}"

    with caplog.at_level(logging.WARNING), scripted(Script(reply)):
        result = run(PLAN, memory=False)
    _hold(result)
    word = "back" if by < 0 else "ahead"
    assert f"the clock was set {word} by" in caplog.text


def _left_after_s1() -> str:
    script = Script(lambda p: ModelHTTPError(401, "far") if "do S2" in p else "one")
    with scripted(script):
        return run(PLAN, memory=False, max_attempts=1).run_id


def test_a_clock_that_was_set_back_before_the_run_goes_on(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    name = _left_after_s1()
    clock.by = -HOUR
    with caplog.at_level(logging.WARNING), scripted(Script()):
        result = asyncio.run(resume(name, retry_failed=True))
    _hold(result)
    assert "it was set back" in caplog.text


def test_the_time_in_which_nothing_ran_is_named_and_makes_nothing_slower(clock: Clock) -> None:
    name = _left_after_s1()
    clock.by = HOUR
    with scripted(Script()):
        result = asyncio.run(resume(name, retry_failed=True))
    assert result.time is not None
    assert result.time.seconds["stopped"] == pytest.approx(HOUR, abs=HOUR / 2)
    assert result.metrics.total_s > HOUR / 2
    assert 0 < result.metrics.makespan_s < HOUR / 2


def test_a_run_that_failed_has_figures_too(clock: Clock) -> None:
    def reply(_: str) -> Exception:
        clock.by = -HOUR
        return ModelHTTPError(401, "far")

    with scripted(Script(reply)), pytest.raises(RunFailedError) as caught:
        run(PLAN, memory=False, max_attempts=1)
    assert caught.value.result is not None
    assert 0 < caught.value.result.metrics.total_s < HOUR / 2
