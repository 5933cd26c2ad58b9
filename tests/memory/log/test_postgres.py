"""The PostgreSQL log does what a log has to do, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import ClassVar
from uuid import uuid4

import pytest
from conformance.log import LogConformance
from prefect_swarm.memory.log.postgres import PostgresLog

Opener = Callable[[], PostgresLog]


@pytest.fixture
def open_numbered(postgres: str) -> Iterator[Callable[[int], PostgresLog]]:
    """Opens a log by its number; the same number is the same log."""
    logs: list[PostgresLog] = []
    name = f"log '\"% {uuid4().hex}"

    def open_log(number: int) -> PostgresLog:
        logs.append(PostgresLog(postgres, f"{name} {number}"))
        return logs[-1]

    yield open_log
    for log in logs:
        log.close()


class TestPostgresLog(LogConformance):
    examples: ClassVar[int] = 15

    @pytest.fixture
    def log(self, open_numbered: Callable[[int], PostgresLog]) -> PostgresLog:
        return open_numbered(0)

    @pytest.fixture
    def reopen(self, open_numbered: Callable[[int], PostgresLog]) -> Opener:
        return lambda: open_numbered(0)

    @pytest.fixture
    def new_log(self, open_numbered: Callable[[int], PostgresLog]) -> Opener:
        numbers = count(1)
        return lambda: open_numbered(next(numbers))
