"""Whoever is killed, every episode is there once and the index says what the log says."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from consolidators import SCRIPT
from generations import contents
from hash_embedder import HashEmbedder
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.log.sqlite import SqliteLog
from writers import run_writers

WRITERS = 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("episodes", "kills"), [(100, 5), pytest.param(1000, 50, marks=pytest.mark.exhaustive)]
)
def test_nothing_is_lost_while_consolidators_are_killed(
    quick_folder: Path, episodes: int, kills: int
) -> None:
    where, folder = quick_folder / "episodes.sqlite", quick_folder / "memory"
    SqliteLog(where).close()
    command = [sys.executable, str(SCRIPT), str(where), str(folder), str(kills), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killing:
        try:
            run_writers(str(where), WRITERS, episodes)
            reports = killing.communicate(timeout=600)[0].split()
        finally:
            killing.kill()
    assert killing.returncode == 0
    assert reports.count("killed") == kills
    log = SqliteLog(where)
    entries = log.since(0, WRITERS * episodes + 1)
    assert set(Counter(entry.episode.key for entry in entries).values()) == {1}
    assert len(entries) == WRITERS * episodes
    done = consolidate(log, folder, HashEmbedder())
    assert (done.damage, done.full, done.episodes) == (None, False, len(entries))
    consolidate(log, quick_folder / "again", HashEmbedder())
    found = contents(folder)
    assert sorted(found["vectors"]["default"]) == [entry.position for entry in entries]
    assert found == contents(quick_folder / "again")
    log.close()
