"""Steps of a model are timed; what differs or takes too long is no measurement."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import EngineConfig
from prefect_swarm.blocks.llama.native import BatchToken, Native
from prefect_swarm.blocks.llama.slot_gain.timing import time_steps

pytestmark = pytest.mark.model

CONFIG = EngineConfig()
COUNTS = [1, 2, 4, 8, 16]


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
    steps = time_steps(shallow_path, CONFIG, clock=ticking(1.0))
    assert steps == dict.fromkeys(COUNTS, 1.0)


def test_a_real_clock_gives_seconds_or_nothing(shallow_path: Path) -> None:
    steps = time_steps(shallow_path, CONFIG)
    assert steps is None or (list(steps) == COUNTS and all(taken > 0 for taken in steps.values()))


def test_what_takes_too_long_is_given_up(
    shallow_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    decode = Native.decode

    def counted(native: Native, entries: list[BatchToken]) -> None:
        sizes.append(len(entries))
        decode(native, entries)

    monkeypatch.setattr(Native, "decode", counted)
    assert time_steps(shallow_path, CONFIG, most_s=4.0, clock=ticking(1.0)) is None
    assert sizes[1:] == [1, 2]


def test_what_differs_each_time_is_no_measurement(shallow_path: Path) -> None:
    clock = ticking(*(1.0 + n for n in range(200)))
    assert time_steps(shallow_path, CONFIG, clock=clock) is None


def test_each_step_goes_on_from_what_its_sequences_hold(
    shallow_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[list[int]] = []
    close = Native.close

    def noted(native: Native) -> None:
        held.append([native.held(sequence) for sequence in range(16)])
        close(native)

    monkeypatch.setattr(Native, "close", noted)
    time_steps(shallow_path, CONFIG)
    ((first, second, *_, last),) = held
    assert first - 120 == 5 * 7
    assert second - 120 == 4 * 7
    assert last - 120 == 7
