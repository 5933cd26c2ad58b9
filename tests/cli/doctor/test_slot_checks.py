"""`doctor` says how many requests a model file computes at once, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.cli.doctor.checks import check_slots, measure_again
from prefect_swarm.models.llama import slot_speeds
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.llama.slot_speeds import SlotTable, table_path, write_table
from pydantic_ai.models.test import TestModel

SPEEDS = {1: 10.0, 2: 16.0, 4: 20.0, 8: 25.0, 16: 26.0}


@pytest.fixture(autouse=True)
def _nothing_known(swarm_home: Path) -> Iterator[None]:
    yield
    slot_speeds._known.clear()


def found(n_slots: int = 4) -> tuple[str, str]:
    model = LlamaCppModel(demo_model_path(), config=EngineConfig(n_slots=n_slots))
    (check,) = check_slots("model", model)
    assert (check.name, check.status) == ("slots", "ok")
    return check.detail, check.fix


def write(speeds: dict[int, float], at: float = 0.0) -> None:
    path = table_path(demo_model_path().resolve(), EngineConfig())
    write_table(path, SlotTable(speeds=speeds, measured_at=at))


def test_what_was_not_measured_can_be() -> None:
    detail, fix = found()
    assert detail == "4, by memory; not measured"
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


def test_a_deep_look_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    def time_texts(*_: object) -> dict[int, float]:
        return dict.fromkeys(SPEEDS, 10.0)

    monkeypatch.setattr(slot_speeds, "time_texts", time_texts)
    assert measure_again(LlamaCppModel(demo_model_path()))
    assert "10 at 1" in found()[0]
    assert LlamaCppModel(demo_model_path()).config.n_slots == 4


def test_two_measurements_that_differ_leave_the_last_table(monkeypatch: pytest.MonkeyPatch) -> None:
    write(SPEEDS, time.time())

    def time_texts(*_: object) -> None:
        return None

    monkeypatch.setattr(slot_speeds, "time_texts", time_texts)
    assert not measure_again(LlamaCppModel(demo_model_path()))
    assert "26 at 16" in found()[0]


def test_a_model_of_a_provider_has_none() -> None:
    assert list(check_slots("model", TestModel())) == []
    assert not measure_again(TestModel())
