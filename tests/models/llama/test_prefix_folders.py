"""Each way in which a file is served has its own stored beginnings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.prefixes import PrefixState, stored_prefixes

CONFIG = EngineConfig()
TOKENS = [1, 2, 3]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


def write(model: Path) -> None:
    stored = stored_prefixes(model, CONFIG)
    assert stored is not None
    stored.write(PrefixState(TOKENS, b"state"))


def found(model: Path, config: EngineConfig) -> int:
    stored = stored_prefixes(model, config)
    assert stored is not None
    return stored.find(TOKENS)[1]


@pytest.mark.parametrize(
    ("changed", "length"),
    [
        ({"n_slots": 2, "n_threads": 3, "n_ctx": 99, "seed": 7, "keep_loaded": True}, 3),
        ({"deterministic": True}, 0),
        ({"cache_type": "q8_0"}, 0),
        ({"n_gpu_layers": 4}, 0),
    ],
)
def test_what_changes_the_figures_has_a_folder_of_its_own(
    model: Path, swarm_home: Path, changed: dict[str, object], length: int
) -> None:
    write(model)
    assert found(model, replace(CONFIG, **changed)) == length  # pyright: ignore[reportArgumentType]


def test_another_file_in_its_place_has_none(model: Path, swarm_home: Path) -> None:
    write(model)
    model.write_bytes(b"other weights")
    assert found(model, CONFIG) == 0


def test_the_setting_turns_them_off(
    model: Path, swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_PREFIX_STORE_MB", "0")
    assert stored_prefixes(model, CONFIG) is None
