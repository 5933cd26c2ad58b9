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
def open_numbered(quick_folder: Path) -> Iterator[Callable[[int], SqliteLog]]:
    """Opens a log by its number; the same number is the same log."""
    logs: list[SqliteLog] = []

    def open_log(number: int) -> SqliteLog:
        logs.append(SqliteLog(quick_folder / "memory" / f"{number}.sqlite"))
        return logs[-1]

    yield open_log
    for log in logs:
        log.close()


class TestSqliteLog(LogConformance):
    @pytest.fixture
    def log(self, open_numbered: Callable[[int], SqliteLog]) -> SqliteLog:
        return open_numbered(0)

    @pytest.fixture
    def reopen(self, open_numbered: Callable[[int], SqliteLog]) -> Opener:
        return lambda: open_numbered(0)

    @pytest.fixture
    def new_log(self, open_numbered: Callable[[int], SqliteLog]) -> Opener:
        numbers = count(1)
        return lambda: open_numbered(next(numbers))
