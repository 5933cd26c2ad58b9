"""A model file's limits follow from the file and the machine, the embedded one's are its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.llama import gguf, limits
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.engine import get_engine
from prefect_swarm.models.llama.limits import engine_config_for, limits_of
from prefect_swarm.models.names import EMBEDDED

GIB = 2**30


@pytest.fixture
def other(demo_path: Path, tmp_path: Path) -> Path:
    """A file with the embedded model's header; its weights are missing."""
    path = tmp_path / "other.gguf"
    with demo_path.open("rb") as file:
        path.write_bytes(file.read(8_000_000))
    with path.open("r+b") as file:
        file.truncate(demo_path.stat().st_size)
    return path


def test_the_embedded_model_has_its_context_whatever_is_free(demo_path: Path) -> None:
    assert engine_config_for(demo_path, free=0) == EngineConfig(n_ctx=4096, n_slots=4)
    config = engine_config_for(demo_path, n_threads=1, free=16 * GIB)
    assert config == EngineConfig(n_ctx=4096, n_slots=16, n_threads=1)


def test_another_file_gets_what_it_was_trained_for(other: Path) -> None:
    assert engine_config_for(other, free=16 * GIB) == EngineConfig(n_ctx=8192, n_slots=16)


def test_another_file_gets_less_where_memory_is_short(other: Path) -> None:
    assert engine_config_for(other, free=0) == EngineConfig(n_ctx=2048, n_slots=1)


def test_what_is_given_is_taken_and_the_rest_follows(other: Path) -> None:
    assert engine_config_for(other, free=0, n_slots=3) == EngineConfig(n_ctx=2048, n_slots=3)
    assert engine_config_for(other, free=GIB, n_ctx=512) == EngineConfig(n_ctx=512, n_slots=16)


def test_a_file_keeps_its_configuration_when_less_memory_is_free(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([16 * GIB, 0])
    monkeypatch.setattr(limits, "free_memory", lambda: next(free))
    assert get_engine(other) is get_engine(other)


@pytest.mark.parametrize("field", ["n_ctx", "n_slots", "n_threads"])
def test_a_senseless_figure_is_refused(other: Path, field: str) -> None:
    with pytest.raises(InputError, match=field):
        engine_config_for(other, **{field: 0})  # pyright: ignore[reportArgumentType]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="doesn't exist"):
        engine_config_for(tmp_path / "none.gguf")


def test_the_embedded_models_limits_are_its_own(demo_path: Path) -> None:
    path = demo_path.resolve()
    assert limits_of(path, EngineConfig(n_threads=1)) == EMBEDDED
    assert limits_of(path, EngineConfig(n_ctx=2048)).max_output_tokens == 512


def test_without_the_embedded_model_a_file_has_limits(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise ModelError("It is not installed.")

    monkeypatch.setattr(gguf, "demo_model_path", missing)
    assert limits_of(other, EngineConfig()).context_tokens == 4096


def test_no_limit_goes_beyond_what_a_model_was_trained_for(other: Path) -> None:
    assert limits_of(other, EngineConfig(n_ctx=100_000)).context_tokens == 8192
