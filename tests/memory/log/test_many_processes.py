"""Any number of processes write at once and may be killed: each episode is there once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import writers
from prefect_swarm.memory.episode import Selection
from prefect_swarm.memory.protocols import EpisodeLog

pytestmark = pytest.mark.slow


def assert_each_is_there_once(log: EpisodeLog, of_writers: int, count: int) -> None:
    """And in its writer's order."""
    entries = log.since(0, 2 * of_writers * count)
    expected = {(f"writer-{w}", f"S{n}") for w in range(of_writers) for n in range(count)}
    assert Counter((e.episode.run, e.episode.step) for e in entries) == Counter(expected)
    for writer in range(of_writers):
        written = [e.episode for e in entries if e.episode.run == f"writer-{writer}"]
        assert written == [writers.episode_of(writer, number) for number in range(count)]


@pytest.mark.parametrize("count", [250, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_8_processes_write_each_episode_once_while_some_are_killed(
    quick_folder: Path, count: int
) -> None:
    where = str(quick_folder / "episodes.sqlite")
    writers.run_writers(where, writers=8, count=count, mortals=3, seed=1)
    log = writers.open_log(where)
    assert_each_is_there_once(log, 8, count)
    log.close()


def test_processes_on_a_real_disk_write_each_episode_once(tmp_path: Path) -> None:
    where = str(tmp_path / "episodes.sqlite")
    writers.run_writers(where, writers=2, count=100, mortals=1, lives=2, seed=2)
    log = writers.open_log(where)
    assert_each_is_there_once(log, 2, 100)
    log.close()


def test_processes_on_a_server_write_each_episode_once(postgres: str) -> None:
    writers.run_writers(postgres, writers=3, count=100, mortals=1, lives=2, seed=3)
    log = writers.open_log(postgres)
    assert_each_is_there_once(log, 3, 100)
    log.close()


def test_what_is_forgotten_while_processes_write_is_gone_and_nothing_else(
    quick_folder: Path,
) -> None:
    where = str(quick_folder / "episodes.sqlite")
    log = writers.open_log(where)
    forgotten: list[int] = []
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(writers.write_and_die, where, writer, 300) for writer in range(3)]
        while not all(job.done() for job in jobs):
            forgotten += log.forget("default", Selection(step="S100"))
        for job in jobs:
            job.result()
    forgotten += log.forget("default", Selection(step="S100"))
    assert len(forgotten) == 3
    expected = {(f"writer-{w}", f"S{n}") for w in range(3) for n in range(300) if n != 100}
    assert {(e.episode.run, e.episode.step) for e in log.since(0, 1000)} == expected
    log.close()
