"""The PostgreSQL log does what a log has to do, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from conformance.log import LogConformance
from prefect_swarm.memory.postgres_log import PostgresLog


@pytest.fixture
def opened(postgres: str) -> Iterator[Callable[[], PostgresLog]]:
    """Opens the test's log, again and again."""
    logs: list[PostgresLog] = []
    schema = f"log '\"% {uuid4().hex}"

    def another() -> PostgresLog:
        logs.append(PostgresLog(postgres, schema))
        return logs[-1]

    yield another
    for log in logs:
        log.close()


class TestPostgresLog(LogConformance):
    @pytest.fixture
    def log(self, opened: Callable[[], PostgresLog]) -> PostgresLog:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], PostgresLog]) -> Callable[[], PostgresLog]:
        return opened
