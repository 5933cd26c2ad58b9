"""A command prepares the models that are computed with here before anything runs, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.cli.source import prepare_weights
from prefect_swarm.models.llama import merged, prepared
from prefect_swarm.models.llama.gguf import SHIPPED_ADAPTER, demo_model_path
from prefect_swarm.models.llama.model import LlamaCppModel
from pydantic_ai.models.test import TestModel


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose weights were asked for."""
    asked: list[Path] = []

    def weights_of(source: Path, _: object) -> Path:
        asked.append(source)
        return source

    monkeypatch.setattr(prepared, "weights_of", weights_of)
    return asked


def test_the_embedded_models_weights_are_prepared(asked: list[Path]) -> None:
    prepare_weights(LlamaCppModel(demo_model_path()), planning=True)
    assert asked == [demo_model_path().resolve()]


def test_a_model_of_a_provider_has_none(asked: list[Path]) -> None:
    prepare_weights(TestModel(), planning=True)
    assert asked == []


def test_a_folder_that_takes_no_file_is_named_and_the_model_serves_all_the_same(
    swarm_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_REQUANTISE", "auto")
    monkeypatch.setattr(prepared, "processor", lambda: "x86-avx512")
    swarm_home.mkdir()
    (swarm_home / "weights").touch()
    prepare_weights(LlamaCppModel(demo_model_path()), planning=True)
    assert str(swarm_home / "weights") in capsys.readouterr().err


@pytest.mark.parametrize(("planning", "count"), [(True, 1), (False, 0)])
def test_the_planners_adapter_is_added_where_plans_are_asked_for(
    planning: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[Path] = []

    def prepare(source: Path, _: object) -> Path:
        return source.with_name("prepared.gguf")

    def merge(_: Path, adapter: Path, __: object) -> None:
        added.append(adapter)

    monkeypatch.setattr(prepared, "weights_of", prepare)
    monkeypatch.setattr(merged, "merged_of", merge)
    prepare_weights(LlamaCppModel(demo_model_path()), planning=planning)
    assert added == [SHIPPED_ADAPTER.resolve()] * count
