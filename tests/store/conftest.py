"""A PostgreSQL server that the store's tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of the server."""
    with postgres_server() as (address, _):
        yield address
