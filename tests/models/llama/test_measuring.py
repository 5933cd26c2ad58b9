"""A model file is measured once, and its slots follow from that and from the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama import limits
from prefect_swarm.models.llama import limits as measuring
from prefect_swarm.models.llama import native as timing
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.limits import (
    SlotTable,
    engine_config_for,
    estimate,
    known_speeds,
    limits_of,
    measure,
    measure_if_due,
    read_table,
    table_path,
    write_table,
)
from prefect_swarm.models.llama.sizing import BUDGET_VARIABLE
from prefect_swarm.models.names import EMBEDDED

CONFIG = EngineConfig()
GIB = 2**30
COUNTS = (1, 2, 4, 8, 16)
ALL: dict[int, float] = dict(zip(COUNTS, (133.0, 133.0, 207.0, 300.0, 420.0), strict=True))
"""One kind of processor: two texts at once bring nothing, sixteen three times as much."""
NONE: dict[int, float] = dict.fromkeys(COUNTS, 100.0)


class PretendTiming:
    """Gives what a test wants to have been measured, and counts how often it was."""

    def __init__(self) -> None:
        self.speeds: dict[int, float] | None = ALL
        self.calls = 0

    def __call__(
        self, path: Path, config: EngineConfig, most_s: float | None = None
    ) -> dict[int, float] | None:
        self.calls += 1
        return self.speeds


@pytest.fixture(autouse=True)
def _setting(swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS", "auto")
    yield
    measuring._known.clear()


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> PretendTiming:
    pretended = PretendTiming()
    monkeypatch.setattr(timing, "time_texts", pretended)
    return pretended


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def model(demo_path: Path) -> Path:
    return demo_path.resolve()


def as_another_process() -> None:
    measuring._known.clear()


def is_quiet() -> bool:
    return True


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


def test_it_is_measured_once(model: Path, timed: PretendTiming, lines: list[str]) -> None:
    for _ in range(2):
        measure_if_due(model, CONFIG, lines.append, is_quiet)
        as_another_process()
    assert timed.calls == len(lines) == 1
    assert known_speeds(model, CONFIG) == ALL


def test_an_old_table_is_used_until_it_is_measured_again(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    write_table(table_path(model, CONFIG), SlotTable(speeds=NONE, measured_at=0.0, tried_at=0.0))
    assert known_speeds(model, CONFIG) == NONE
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert known_speeds(model, CONFIG) == ALL


def test_beside_other_work_nothing_is_measured(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    measure_if_due(model, CONFIG, lines.append, lambda: False)
    assert (timed.calls, lines) == (0, [])
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert timed.calls == 1


def test_what_gave_nothing_is_tried_again_the_next_day(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    timed.speeds = None
    for _ in range(2):
        measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert timed.calls == 1
    write_table(table_path(model, CONFIG), SlotTable(speeds=None, measured_at=0.0, tried_at=0.0))
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert timed.calls == 2
    assert known_speeds(model, CONFIG) is None


def test_a_damaged_file_is_measured_again(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    table_path(model, CONFIG).write_text("{")
    as_another_process()
    assert known_speeds(model, CONFIG) is None
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert (timed.calls, known_speeds(model, CONFIG)) == (2, ALL)


def test_what_gave_nothing_replaces_no_table_and_is_not_tried_at_each_run(
    model: Path, timed: PretendTiming, lines: list[str]
) -> None:
    write_table(table_path(model, CONFIG), SlotTable(speeds=ALL, measured_at=0.0, tried_at=0.0))
    timed.speeds = None
    for _ in range(2):
        measure_if_due(model, CONFIG, lines.append, is_quiet)
        as_another_process()
    assert (timed.calls, known_speeds(model, CONFIG)) == (1, ALL)
    table = read_table(table_path(model, CONFIG))
    assert table
    assert table.measured_at == 0.0 < table.tried_at


def test_a_process_keeps_to_its_first_answer(model: Path) -> None:
    before = engine_config_for(model)
    write_table(table_path(model, CONFIG), SlotTable(speeds=NONE, measured_at=0.0, tried_at=0.0))
    assert engine_config_for(model) == before


def test_off_measures_nothing_and_goes_by_nothing(
    model: Path, timed: PretendTiming, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure(model, CONFIG)
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS", "off")
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert (timed.calls, lines, known_speeds(model, CONFIG)) == (1, [], None)


def test_a_large_file_is_not_loaded_for_it(
    model: Path, timed: PretendTiming, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SMALL_BYTES", 1000)
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert (timed.calls, lines) == (0, [])


def test_a_file_that_cannot_be_loaded_says_so_where_it_is_used(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ModelError("It can't be loaded.")

    monkeypatch.setattr(timing, "time_texts", refuse)
    measure_if_due(model, CONFIG, lines.append, is_quiet)
    assert known_speeds(model, CONFIG) is None
