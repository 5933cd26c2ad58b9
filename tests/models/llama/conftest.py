"""One small engine over the embedded model, shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.models.llama.api import EngineConfig
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import demo_model_path
from shallow_model import write_shallow


@pytest.fixture(scope="session")
def demo_path() -> Path:
    return demo_model_path()


@pytest.fixture(scope="session")
def shallow_path(demo_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of the model's thirty layers, where it doesn't matter what is written."""
    return write_shallow(demo_path, tmp_path_factory.mktemp("model") / "shallow.gguf", 2)


@pytest.fixture(scope="session")
def config() -> EngineConfig:
    return EngineConfig(n_ctx=512, n_slots=2)


@pytest.fixture(scope="session", autouse=True)
def _close_engines() -> Iterator[None]:
    yield
    close_engines()
