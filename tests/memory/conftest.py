"""Where the memory's tests keep what they write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_IN_MEMORY = Path("/dev/shm")  # noqa: S108


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory where there is such a place: nothing there waits for a disk."""
    if not os.access(_IN_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-", dir=_IN_MEMORY) as folder:
        yield Path(folder)
