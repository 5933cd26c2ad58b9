"""While a run goes on, its time passes steadily, whatever the machine's clock is set to."""

from __future__ import annotations

import threading
import time

import pytest
from prefect_swarm.metrics.clock import RunClock, clock_of_run, run_time

HOUR = 3600.0


@pytest.fixture
def set_by(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the machine's clock is set by."""
    offset, real = [0.0], time.time
    monkeypatch.setattr(time, "time", lambda: real() + offset[0])
    return offset


def test_it_passes_as_the_steady_seconds_do() -> None:
    seconds = iter([100.0, 107.5])
    clock = RunClock.begin(not_before=4e9, steady=lambda: next(seconds))
    assert clock.now() == 4e9 + 7.5


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_a_clock_that_is_set_changes_no_duration(set_by: list[float], by: float) -> None:
    with clock_of_run() as clock:
        began = run_time()
        set_by[0] = by
        assert 0 <= run_time() - began < HOUR / 2
        assert clock.set_by_s() == pytest.approx(by, abs=HOUR / 2)


def test_it_does_not_begin_before_where_the_run_had_come_to(set_by: list[float]) -> None:
    left_at = time.time()
    set_by[0] = -HOUR
    with clock_of_run(not_before=left_at) as clock:
        assert run_time() >= left_at
        assert clock.offset_s == pytest.approx(HOUR, abs=HOUR / 2)
        assert clock.set_by_s() == pytest.approx(0, abs=HOUR / 2)


def test_threads_have_the_time_of_the_run(set_by: list[float]) -> None:
    found: list[float] = []
    with clock_of_run():
        set_by[0] = HOUR
        thread = threading.Thread(target=lambda: found.append(run_time()))
        thread.start()
        thread.join()
        assert abs(found[0] - run_time()) < HOUR / 2


def test_without_a_run_it_is_the_machines(set_by: list[float]) -> None:
    set_by[0] = HOUR
    assert abs(run_time() - time.time()) < HOUR / 2
