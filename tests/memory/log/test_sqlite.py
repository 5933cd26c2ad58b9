"""The SQLite log does what a log has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from conformance.log import LogConformance
from prefect_swarm.memory.log.sqlite import SqliteLog

Opener = Callable[[], SqliteLog]


@pytest.fixture
def opened(quick_folder: Path) -> Iterator[Callable[[int], SqliteLog]]:
    """Opens a log by its number; the same number is the same log."""
    logs: list[SqliteLog] = []

    def another(number: int) -> SqliteLog:
        logs.append(SqliteLog(quick_folder / "memory" / f"{number}.sqlite"))
        return logs[-1]

    yield another
    for log in logs:
        log.close()


class TestSqliteLog(LogConformance):
    @pytest.fixture
    def log(self, opened: Callable[[int], SqliteLog]) -> SqliteLog:
        return opened(0)

    @pytest.fixture
    def again(self, opened: Callable[[int], SqliteLog]) -> Opener:
        return lambda: opened(0)

    @pytest.fixture
    def new(self, opened: Callable[[int], SqliteLog]) -> Opener:
        numbers = count(1)
        return lambda: opened(next(numbers))
