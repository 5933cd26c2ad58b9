"""A model file is measured once, and its slots follow from that and from the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import EngineConfig, engine_config_for
from prefect_swarm.blocks.llama.limits import limits_of
from prefect_swarm.blocks.llama.slot_gain import measured, timing
from prefect_swarm.blocks.llama.slot_gain.kept import SlotMeasurement, kept_path, write_kept
from prefect_swarm.blocks.llama.slot_gain.measured import gained_slots, measure, measure_once
from prefect_swarm.blocks.profile import EMBEDDED
from prefect_swarm.errors import ModelError

CONFIG = EngineConfig()
GIB = 2**30
ALL: dict[int, float] = dict.fromkeys((1, 2, 4, 8, 16), 0.01)
TWO = {1: 1.0, 2: 1.0, 4: 2.0}


class PretendTiming:
    """Gives what a test wants to have been measured, and counts how often it was."""

    def __init__(self) -> None:
        self.steps: dict[int, float] | None = ALL
        self.calls = 0

    def __call__(
        self, path: Path, config: EngineConfig, most_s: float | None = None
    ) -> dict[int, float] | None:
        self.calls += 1
        return self.steps


@pytest.fixture(autouse=True)
def _setting(swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS", "auto")
    yield
    measured._known.clear()


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> PretendTiming:
    pretended = PretendTiming()
    monkeypatch.setattr(timing, "time_steps", pretended)
    return pretended


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def model(demo_path: Path) -> Path:
    return demo_path.resolve()


def as_another_process() -> None:
    measured._known.clear()


def test_without_a_measurement_the_usual_count_stays(model: Path) -> None:
    assert gained_slots(model, CONFIG) is None
    assert engine_config_for(model).n_slots == 4


def test_slots_follow_from_what_was_measured(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB).n_slots == 16
    timed.steps = TWO
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB).n_slots == 2


def test_memory_bounds_them(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert 4 < engine_config_for(model, free=2 * GIB).n_slots < 16
    assert engine_config_for(model, free=0).n_slots == 4


def test_what_is_given_is_taken(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB, n_slots=3).n_slots == 3


def test_the_embedded_models_limits_stay_but_for_how_many_are_in_line(
    model: Path, timed: PretendTiming
) -> None:
    measure(model, CONFIG)
    limits = limits_of(model, engine_config_for(model, free=16 * GIB))
    assert limits == EMBEDDED.model_copy(update={"concurrency": 32})


def test_it_is_measured_once(model: Path, timed: PretendTiming, lines: list[str]) -> None:
    for _ in range(2):
        measure_once(model, CONFIG, lines.append)
        as_another_process()
    assert timed.calls == len(lines) == 1
    assert gained_slots(model, CONFIG) == 16


def test_what_gave_nothing_is_tried_again_the_next_day(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    timed.steps = None
    for _ in range(2):
        measure_once(model, CONFIG, lines.append)
    assert timed.calls == 1
    write_kept(kept_path(model, CONFIG), SlotMeasurement(steps=None, tried_at=0.0))
    measure_once(model, CONFIG, lines.append)
    assert timed.calls == 2
    assert gained_slots(model, CONFIG) is None


def test_a_damaged_file_is_measured_again(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    measure_once(model, CONFIG, lines.append)
    kept_path(model, CONFIG).write_text("{")
    as_another_process()
    assert gained_slots(model, CONFIG) is None
    measure_once(model, CONFIG, lines.append)
    assert (timed.calls, gained_slots(model, CONFIG)) == (2, 16)


def test_what_gave_nothing_replaces_no_measurement(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    timed.steps = None
    measure(model, CONFIG)
    as_another_process()
    assert gained_slots(model, CONFIG) == 16


def test_a_process_keeps_to_its_first_answer(model: Path) -> None:
    before = engine_config_for(model)
    write_kept(kept_path(model, CONFIG), SlotMeasurement(steps=ALL, tried_at=0.0))
    assert engine_config_for(model) == before


def test_off_measures_nothing_and_goes_by_nothing(
    model: Path, timed: PretendTiming, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(model, CONFIG)
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS", "off")
    measure_once(model, CONFIG, lines.append)
    assert (timed.calls, lines, gained_slots(model, CONFIG)) == (1, [], None)


def test_a_large_file_is_not_loaded_for_it(
    model: Path, timed: PretendTiming, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "SMALL_BYTES", 1000)
    measure_once(model, CONFIG, lines.append)
    assert (timed.calls, lines) == (0, [])


def test_a_file_that_cannot_be_loaded_says_so_where_it_is_used(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ModelError("It can't be loaded.")

    monkeypatch.setattr(timing, "time_steps", refuse)
    measure_once(model, CONFIG, lines.append)
    assert gained_slots(model, CONFIG) is None
