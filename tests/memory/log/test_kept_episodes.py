"""Episodes that were read are not read again, and what is forgotten is not found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from prefect_swarm.memory.episode import Episode, Selection
from prefect_swarm.memory.log.sqlite import SqliteLog
from prefect_swarm.memory.store import EpisodeCache
from samples import episode


class NotedLog(SqliteLog):
    """Notes which positions are read."""

    reads: list[tuple[int, ...]]

    def at(self, positions: Sequence[int]) -> dict[int, Episode]:
        self.reads.append(tuple(positions))
        return super().at(positions)


@pytest.fixture
def log(quick_folder: Path) -> NotedLog:
    made = NotedLog(quick_folder / "episodes.sqlite")
    made.reads = []
    made.append(episode(number) for number in range(1, 6))
    return made


def test_only_what_was_not_read_is_read(log: NotedLog) -> None:
    kept = EpisodeCache(log)
    assert kept.at([1, 2]) == {1: episode(1), 2: episode(2)}
    assert kept.at([2, 3]) == {2: episode(2), 3: episode(3)}
    assert kept.at([1, 2, 3]) == {number: episode(number) for number in (1, 2, 3)}
    assert log.reads == [(1, 2), (3,)]


def test_what_another_process_forgets_is_not_found(log: NotedLog) -> None:
    kept = EpisodeCache(log)
    kept.at([1, 2])
    SqliteLog(log.path).forget("default", Selection(run="run-1"))
    assert kept.at([1, 2]) == {2: episode(2)}


def test_what_is_appended_later_is_found(log: NotedLog) -> None:
    kept = EpisodeCache(log)
    assert kept.at([6]) == {}
    log.append([episode(6)])
    assert kept.at([6]) == {6: episode(6)}


def test_those_that_were_asked_for_last_are_kept(log: NotedLog) -> None:
    kept = EpisodeCache(log, most=2)
    kept.at([1, 2])
    kept.at([1])
    kept.at([3])
    log.reads.clear()
    kept.at([1, 3])
    assert log.reads == []
    kept.at([2])
    assert log.reads == [(2,)]
