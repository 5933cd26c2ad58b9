"""The benches' simulator: its clock is right, and it shows what a barrier costs."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHES)
    return import_module("simulate")


@pytest.fixture
def waves(simulate: Any) -> Any:
    return import_module("waves")


def uneven(simulate: Any) -> list[Any]:
    """Two steps of 5 s, one after the other, beside one of 20 s."""
    job = simulate.Job
    return [job("S1", (), 5.0, 10.0), job("S2", ("S1",), 5.0, 5.0), job("S3", (), 20.0, 20.0)]


def test_a_chain_takes_the_sum_of_its_steps(simulate: Any) -> None:
    chain = [simulate.Job("S1", (), 2.0), simulate.Job("S2", ("S1",), 3.5)]
    assert simulate.makespan(chain, slots=4) == 5.5


def test_one_slot_takes_the_sum_of_all_steps(simulate: Any) -> None:
    assert simulate.makespan(uneven(simulate), slots=1) == 30.0


def test_without_barriers_the_critical_path_is_all_it_takes(simulate: Any) -> None:
    assert simulate.makespan(uneven(simulate), slots=2) == 20.0


def test_with_barriers_the_second_wave_waits_for_the_first(simulate: Any, waves: Any) -> None:
    assert waves.wave_makespan(uneven(simulate), slots=2) == 25.0


def test_a_wave_fills_its_slots_longest_first(simulate: Any, waves: Any) -> None:
    wave = [simulate.Job(f"S{n}", (), duration) for n, duration in enumerate((1.0, 1.0, 2.0))]
    assert waves.wave_makespan(wave, slots=2) == 2.0
