"""Steps of a model are timed; what differs each time doesn't count."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.native import Native
from prefect_swarm.models.llama.slot_speeds import agreed, time_texts

pytestmark = pytest.mark.model

CONFIG = EngineConfig()
COUNTS = [1, 2, 4, 8, 16]
measured = st.fixed_dictionaries(dict.fromkeys(COUNTS, st.floats(1e-4, 1e3)))


def ticking(*seconds: float) -> Callable[[], float]:
    """Return a clock that goes on by these at each look, then by the last of them."""
    ticks = (seconds[min(n, len(seconds) - 1)] for n in count())
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += next(ticks)
        return now

    return clock


def test_steps_of_all_counts_are_timed(shallow_path: Path) -> None:
    speeds = time_texts(shallow_path, CONFIG, clock=ticking(1.0))
    assert speeds == dict(zip(COUNTS, COUNTS, strict=True))


def test_a_real_clock_gives_seconds_or_nothing(shallow_path: Path) -> None:
    speeds = time_texts(shallow_path, CONFIG)
    assert speeds is None or (list(speeds) == COUNTS and all(each > 0 for each in speeds.values()))


def test_what_differs_each_time_is_no_measurement(shallow_path: Path) -> None:
    clock = ticking(*(1.0 + n for n in range(200)))
    assert time_texts(shallow_path, CONFIG, clock=clock) is None


def test_each_step_goes_on_from_what_its_sequences_hold(
    shallow_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[list[int]] = []
    close = Native.close

    def noted(native: Native) -> None:
        held.append([native.held(sequence) for sequence in range(16)])
        close(native)

    monkeypatch.setattr(Native, "close", noted)
    time_texts(shallow_path, CONFIG)
    ((first, second, *_, last),) = held
    assert first - 120 == 5 * 7
    assert second - 120 == 4 * 7
    assert last - 120 == 7


def test_measurements_that_agree_give_the_quicker_of_each() -> None:
    assert agreed({1: 1.0, 2: 2.0}, {1: 1.1, 2: 1.9}) == {1: 1.0, 2: 1.9}


@given(measured, measured)
def test_measurements_agree_in_either_order(
    first: dict[int, float], second: dict[int, float]
) -> None:
    assert agreed(first, second) == agreed(second, first)
    assert agreed(first, first) == first


def test_a_single_figure_that_differs_spoils_both() -> None:
    assert agreed({1: 1.0, 2: 2.0}, {1: 1.0, 2: 2.5}) is None
