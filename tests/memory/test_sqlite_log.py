"""The SQLite log does what a log has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conformance.log import LogConformance
from prefect_swarm.memory.sqlite_log import SqliteLog


@pytest.fixture
def opened(quick_folder: Path) -> Iterator[Callable[[], SqliteLog]]:
    """Opens the test's log, again and again."""
    logs: list[SqliteLog] = []

    def another() -> SqliteLog:
        logs.append(SqliteLog(quick_folder / "memory" / "episodes.sqlite"))
        return logs[-1]

    yield another
    for log in logs:
        log.close()


class TestSqliteLog(LogConformance):
    @pytest.fixture
    def log(self, opened: Callable[[], SqliteLog]) -> SqliteLog:
        return opened()

    @pytest.fixture
    def again(self, opened: Callable[[], SqliteLog]) -> Callable[[], SqliteLog]:
        return opened
