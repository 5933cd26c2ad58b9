"""Processes that write episodes, one at a time as attempts end, for tests to kill.

As a script: `writers.py LOG WRITER COUNT` writes COUNT episodes of the run `writer-WRITER`, and
says the number of each once it is written. LOG is a file, or a PostgreSQL address.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.protocols import EpisodeLog

__all__ = ["episode_of", "open_log", "run_writers", "start_writer", "write_and_die"]

SCRIPT = Path(__file__)


def open_log(where: str) -> EpisodeLog:
    """Open the log that a writer is given."""
    if where.startswith("postgresql:"):
        from prefect_swarm.memory.log.postgres import PostgresLog

        return PostgresLog(where)
    from prefect_swarm.memory.log.sqlite import SqliteLog

    return SqliteLog(where)


def episode_of(writer: int, number: int) -> Episode:
    """The `number`-th episode of a writer; the same one each time."""
    return Episode(
        run=f"writer-{writer}",
        step=f"S{number}",
        attempt=1,
        prompt=f"Write about subject {number % 97} for reader {writer}",
        persona="writer",
        tier="worker",
        model="embedded",
        succeeded=number % 3 != 0,
        started_at=1000.0 + number,
        ended_at=1001.0 + number,
        duration_s=1.0,
        reward=1.0,
    )


@contextmanager
def start_writer(where: str, writer: int, count: int) -> Generator[subprocess.Popen[str]]:
    """Start a writer. It is killed when this is left, unless it has ended."""
    command = [sys.executable, str(SCRIPT), where, str(writer), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def write_and_die(where: str, writer: int, count: int, deaths: Sequence[int] = ()) -> None:
    """Have a writer write all its episodes, with kills and restarts on the way.

    Args:
        where: The log.
        writer: Which writer.
        count: How many episodes it writes.
        deaths: After how many of them it is killed; each time it is restarted.
    """
    for death in [*deaths, count]:
        with start_writer(where, writer, count) as process:
            assert process.stdout is not None
            numbers = [int(line) for line in islice(process.stdout, death)]
            assert numbers == list(range(death)), f"writer {writer} ended before it had to"
            if death == count:
                assert process.wait(60) == 0


def run_writers(
    where: str, writers: int, count: int, mortals: int = 0, lives: int = 3, seed: int = 0
) -> None:
    """Have writers write at once; the first few are killed at random until their last life."""
    drawn = random.Random(seed)  # noqa: S311
    deaths = [[drawn.randrange(1, count) for _ in range(lives - 1)] for _ in range(mortals)]
    with ThreadPoolExecutor(writers) as pool:
        jobs = [
            pool.submit(
                write_and_die, where, writer, count, deaths[writer] if writer < mortals else ()
            )
            for writer in range(writers)
        ]
        for job in jobs:
            job.result()


def _main(where: str, writer: str, count: str) -> None:
    log = open_log(where)
    for number in range(int(count)):
        log.append([episode_of(int(writer), number)])
        print(number, flush=True)  # noqa: T201
    log.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
