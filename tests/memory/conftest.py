"""Where the memory's tests keep what they write: a folder, or a PostgreSQL server."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import postgres_server

_IN_MEMORY = Path("/dev/shm")  # noqa: S108


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is such a place: nothing there waits for a disk."""
    if not os.access(_IN_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-", dir=_IN_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres_and_its_folder() -> Iterator[tuple[str, Path]]:
    """The address of a server that all tests of a session share, and its data folder."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres(postgres_and_its_folder: tuple[str, Path]) -> str:
    """The address of a server that all tests of a session share."""
    return postgres_and_its_folder[0]
