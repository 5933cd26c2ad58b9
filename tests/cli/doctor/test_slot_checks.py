"""`doctor` says how many requests a model file computes at once, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.cli.doctor.engine_checks import check_slots, measure_again
from prefect_swarm.models.llama import limits as measuring
from prefect_swarm.models.llama import native as timing
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.limits import SlotTable, table_path, write_table
from prefect_swarm.models.llama.model import LlamaCppModel
from pydantic_ai.models.test import TestModel

_SETTING = "PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS"
SPEEDS = {1: 10.0, 2: 16.0, 4: 20.0, 8: 25.0, 16: 26.0}


@pytest.fixture(autouse=True)
def _setting(swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(_SETTING, "auto")
    yield
    measuring._known.clear()


def found(n_slots: int = 4) -> tuple[str, str]:
    model = LlamaCppModel(demo_model_path(), config=EngineConfig(n_slots=n_slots))
    (check,) = check_slots("model", model)
    assert (check.name, check.status) == ("slots", "ok")
    return check.detail, check.fix


def write(speeds: dict[int, float] | None, at: float = 0.0) -> None:
    path = table_path(demo_model_path().resolve(), EngineConfig())
    write_table(path, SlotTable(speeds=speeds, measured_at=at, tried_at=at))


def test_what_was_not_measured_can_be() -> None:
    assert found() == ("4; not measured", "To measure: prefect-swarm doctor --deep")


def test_what_gave_nothing_can_be_tried_again() -> None:
    write(None)
    detail, fix = found()
    assert "something else computed while it was measured" in detail
    assert "doctor --deep" in fix


@pytest.mark.parametrize(
    ("slots", "why"),
    [(8, ""), (4, "; more than 4 are not set, or memory is short for them"), (9, "; more are set")],
)
def test_the_figures_are_shown(slots: int, why: str) -> None:
    write(SPEEDS, time.time())
    figures = "tokens a second: 10 at 1, 16 at 2, 20 at 4, 25 at 8, 26 at 16"
    assert found(slots) == (f"{slots}; measured here today, {figures}, so 8{why}", "")


@pytest.mark.parametrize(("days", "when"), [(1.5, "1 day ago"), (40, "40 days ago")])
def test_their_age_is_shown(days: float, when: str) -> None:
    write(SPEEDS, time.time() - days * 24 * 3600)
    assert found()[0].startswith(f"4; measured here {when}, ")


def test_it_says_when_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_SETTING, "off")
    assert found() == (f"4; {_SETTING} is off", "")


def test_a_deep_look_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_texts(*_: object) -> dict[int, float]:
        return dict.fromkeys(SPEEDS, 10.0)

    monkeypatch.setattr(timing, "time_texts", time_texts)
    assert measure_again(LlamaCppModel(demo_model_path()))
    assert "10 at 1" in found()[0]
    assert LlamaCppModel(demo_model_path()).config.n_slots == 4


def test_nothing_is_measured_where_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_SETTING, "off")
    assert not measure_again(LlamaCppModel(demo_model_path()))


def test_a_model_of_a_provider_has_none() -> None:
    assert list(check_slots("model", TestModel())) == []
    assert not measure_again(TestModel())
