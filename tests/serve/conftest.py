"""One server of the embedded model, shared by the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_models import Served, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home: Path = tmp_path_factory.mktemp("served")
    with serving(home, "--n-ctx", 512, "--n-slots", 2, "--n-threads", 1) as served:
        yield served
