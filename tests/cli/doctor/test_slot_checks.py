"""`doctor` says how many requests a model file computes at once, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import EngineConfig, demo_model_path
from prefect_swarm.blocks.llama.model import LlamaCppModel
from prefect_swarm.blocks.llama.slot_gain import measured, timing
from prefect_swarm.blocks.llama.slot_gain.kept import SlotMeasurement, kept_path, write_kept
from prefect_swarm.cli.doctor.slot_checks import check_slots, measure_again
from pydantic_ai.models.test import TestModel

_SETTING = "PREFECT_INTEGRATIONS_SWARM_MEASURE_SLOTS"
STEPS = {1: 0.1, 2: 0.125, 4: 0.25}


@pytest.fixture(autouse=True)
def _setting(swarm_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(_SETTING, "auto")
    yield
    measured._known.clear()


def found(n_slots: int = 4) -> tuple[str, str]:
    model = LlamaCppModel(demo_model_path(), config=EngineConfig(n_slots=n_slots))
    (check,) = check_slots("model", model)
    assert (check.name, check.status) == ("slots", "ok")
    return check.detail, check.fix


def keep(steps: dict[int, float] | None) -> None:
    path = kept_path(demo_model_path().resolve(), EngineConfig())
    write_kept(path, SlotMeasurement(steps=steps, tried_at=0.0))


def test_what_was_not_measured_can_be() -> None:
    assert found() == ("4; not measured", "To measure: prefect-swarm doctor --deep")


def test_what_gave_nothing_can_be_tried_again() -> None:
    keep(None)
    detail, fix = found()
    assert "took too long, or gave different results" in detail
    assert "doctor --deep" in fix


@pytest.mark.parametrize(
    ("slots", "why"),
    [(2, ""), (1, "; more than 1 are not set, or memory is short for them"), (9, "; more are set")],
)
def test_the_figures_are_shown(slots: int, why: str) -> None:
    keep(STEPS)
    figures = "measured here, tokens a second: 10 at 1, 16 at 2, 16 at 4"
    assert found(slots) == (f"{slots}; {figures}, so 2{why}", "")


def test_it_says_when_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_SETTING, "off")
    assert found() == (f"4; {_SETTING} is off", "")


def test_a_deep_look_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_steps(*_: object) -> dict[int, float]:
        return STEPS

    monkeypatch.setattr(timing, "time_steps", time_steps)
    assert measure_again(LlamaCppModel(demo_model_path()))
    assert "10 at 1" in found()[0]
    assert LlamaCppModel(demo_model_path()).config.n_slots == 2


def test_nothing_is_measured_where_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_SETTING, "off")
    assert not measure_again(LlamaCppModel(demo_model_path()))


def test_a_model_of_a_provider_has_none() -> None:
    assert list(check_slots("model", TestModel())) == []
    assert not measure_again(TestModel())
