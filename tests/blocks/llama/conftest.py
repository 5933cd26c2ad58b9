"""One small engine over the embedded model, shared by the tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import EngineConfig, close_engines, demo_model_path


@pytest.fixture(scope="session")
def demo_path() -> Path:
    return demo_model_path()


@pytest.fixture(scope="session")
def config() -> EngineConfig:
    return EngineConfig(n_ctx=512, n_slots=2)


@pytest.fixture(scope="session", autouse=True)
def _engines_are_closed() -> Iterator[None]:
    yield
    close_engines()
    if utilities := sys.modules.get("llama_cpp._utils"):
        # Opened at its import and never closed, which the interpreter would complain about.
        utilities.outnull_file.close()
        utilities.errnull_file.close()
