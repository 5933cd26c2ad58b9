"""A model file is measured once, and its slots follow from that and from the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.models.llama import limits, slot_speeds
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.limits import engine_config_for, estimate, limits_of
from prefect_swarm.models.llama.sizing import BUDGET_VARIABLE
from prefect_swarm.models.llama.slot_speeds import (
    SlotTable,
    known_speeds,
    measure,
    read_table,
    table_path,
    write_table,
)
from prefect_swarm.models.names import EMBEDDED

CONFIG = EngineConfig()
GIB = 2**30
COUNTS = (1, 2, 4, 8, 16)
ALL: dict[int, float] = dict(zip(COUNTS, (133.0, 133.0, 207.0, 300.0, 420.0), strict=True))
"""One kind of processor: two texts at once bring nothing, sixteen three times as much."""
NONE: dict[int, float] = dict.fromkeys(COUNTS, 100.0)


class PretendTiming:
    """Gives what a test wants to have been measured."""

    def __init__(self) -> None:
        self.speeds: dict[int, float] | None = ALL

    def __call__(self, path: Path, config: EngineConfig) -> dict[int, float] | None:
        return self.speeds


@pytest.fixture(autouse=True)
def _nothing_known(swarm_home: Path) -> Iterator[None]:
    yield
    slot_speeds._known.clear()


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> PretendTiming:
    pretended = PretendTiming()
    monkeypatch.setattr(slot_speeds, "time_texts", pretended)
    return pretended


@pytest.fixture
def model(demo_path: Path) -> Path:
    return demo_path.resolve()


def as_another_process() -> None:
    slot_speeds._known.clear()


def test_without_a_table_slots_follow_from_memory_alone(model: Path) -> None:
    assert known_speeds(model, CONFIG) is None
    assert engine_config_for(model, free=16 * GIB).n_slots == 16
    assert 4 < engine_config_for(model, free=2 * GIB).n_slots < 16
    assert engine_config_for(model, free=0).n_slots == 4


def test_slots_follow_from_what_was_measured(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB).n_slots == 16
    timed.speeds = NONE
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB).n_slots == 4


def test_memory_bounds_them(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert 4 < engine_config_for(model, free=2 * GIB).n_slots < 16
    assert engine_config_for(model, free=0).n_slots == 4


def test_what_models_may_take_bounds_them(
    model: Path, timed: PretendTiming, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(model, CONFIG)
    monkeypatch.setattr(limits, "_free", {})
    monkeypatch.setenv(BUDGET_VARIABLE, "1.5")
    config = engine_config_for(model)
    assert 4 <= config.n_slots < 8
    assert sum(estimate(model, config)) < 1.5e9


def test_what_is_given_is_taken(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    assert engine_config_for(model, free=16 * GIB, n_slots=3).n_slots == 3


def test_the_embedded_models_limits_stay_but_for_how_many_are_in_line(
    model: Path, timed: PretendTiming
) -> None:
    measure(model, CONFIG)
    found = limits_of(model, engine_config_for(model, free=16 * GIB))
    assert found == EMBEDDED.model_copy(update={"concurrency": 32})


def test_what_was_measured_is_known_to_the_next_process(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    as_another_process()
    assert known_speeds(model, CONFIG) == ALL


def test_a_damaged_file_is_none(model: Path, timed: PretendTiming) -> None:
    measure(model, CONFIG)
    table_path(model, CONFIG).write_text("{")
    as_another_process()
    assert known_speeds(model, CONFIG) is None
    measure(model, CONFIG)
    assert known_speeds(model, CONFIG) == ALL


def test_what_gave_nothing_replaces_no_table(model: Path, timed: PretendTiming) -> None:
    before = SlotTable(speeds=ALL, measured_at=0.0)
    write_table(table_path(model, CONFIG), before)
    timed.speeds = None
    assert measure(model, CONFIG) is None
    assert known_speeds(model, CONFIG) == ALL
    assert read_table(table_path(model, CONFIG)) == before


def test_a_process_keeps_to_its_first_answer(model: Path) -> None:
    before = engine_config_for(model)
    write_table(table_path(model, CONFIG), SlotTable(speeds=NONE, measured_at=0.0))
    assert engine_config_for(model) == before
