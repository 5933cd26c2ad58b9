"""Cost of the log: episodes a second by 1 and by 8 processes, and bytes an episode.

    python benches/memory/append.py [FOLDER]

FOLDER is where the log is written, a temporary one by default. Its disk decides how long an append
takes, because each waits until the disk has it.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
from prefect_swarm.memory.episode import Episode, GateOutcome
from prefect_swarm.memory.log.sqlite import SqliteLog

STORED = 10_000
DIMENSION = 256
_WORDS = "compare the trains of two countries by price and comfort then say which a family takes "


def episode(run: str, number: int) -> Episode:
    """An episode of usual size: a prompt of 200 characters, an excerpt of 500."""
    return Episode(
        run=f"0192f0c4-7a41-7d3e-{run:>04}-{number // 10:012d}",
        step=f"S{number % 10}",
        attempt=1,
        objective=f"Write the travel page {number // 10}: {_WORDS}"[:120],
        task_type="doc/text",
        prompt=f"Part {number} of {run}: {_WORDS * 3}"[:200],
        persona="travel-writer",
        tier="worker",
        model="embedded",
        decision=None,
        succeeded=True,
        gates=tuple(GateOutcome(gate=name, status="passed") for name in ("form", "length")),
        input_tokens=300,
        output_tokens=200,
        started_at=1790000000.123 + number,
        ended_at=1790000004.456 + number,
        duration_s=4.2,
        reward=1.0,
        terms={"success": 1.0},
        upstream=("S1",),
        artifact=f"{number:064x}",
        excerpt=f"{number} {_WORDS * 7}"[:500],
    )


def _write(path: Path, run: str, count: int, start: Barrier) -> None:
    log = SqliteLog(path)
    start.wait()
    for number in range(count):
        log.append([episode(run, number)])
    start.wait()
    log.close()


def rate(folder: Path, processes: int, count: int) -> float:
    """Measure episodes a second, each appended by itself, from first to last."""
    path = folder / f"{processes}.sqlite"
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(processes + 1)
    writers = [
        context.Process(target=_write, args=(path, str(number), count, start))
        for number in range(processes)
    ]
    for writer in writers:
        writer.start()
    start.wait()
    began = time.perf_counter()
    start.wait()
    took = time.perf_counter() - began
    for writer in writers:
        writer.join()
    assert SqliteLog(path).count() == processes * count
    return processes * count / took


def sync_ms(folder: Path, times: int = 100) -> float:
    """Measure the median of writing a page and waiting until the disk has it."""
    took: list[float] = []
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(times):
            file.write(b"x" * 4096)
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[times // 2] * 1000


def bytes_an_episode(folder: Path) -> dict[str, float]:
    """Measure the file by its parts, and the texts of an episode; by table and index."""
    path = folder / "stored.sqlite"
    log = SqliteLog(path)
    written = [episode("1", number) for number in range(STORED)]
    log.append(written)
    vectors = np.random.default_rng(1).random((STORED, DIMENSION), np.float32)
    log.keep_vectors("bench", {episode.digest: vectors[n] for n, episode in enumerate(written)})
    log.close()
    texts = sum(
        len(episode.objective + episode.prompt + episode.excerpt + episode.artifact)
        for episode in written
    )
    parts = {"file": path.stat().st_size, "its texts": texts}
    db = sqlite3.connect(path)
    # Not every build of SQLite has dbstat.
    known = db.execute("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'").fetchone()
    if known:
        parts |= dict(db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    db.close()
    return {name: size / STORED for name, size in parts.items()}


def main(parent: str | None = None) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        print(f"waiting for the disk: {sync_ms(folder):.2f} ms")
        for processes in (1, 8):
            print(f"{processes} processes: {rate(folder, processes, 250):.0f} episodes a second")
        for part, size in bytes_an_episode(folder).items():
            print(f"{part}: {size:.0f} bytes an episode")


if __name__ == "__main__":
    main(*sys.argv[1:])
