"""Consolidators that are killed at random moments, for tests.

As a script: `consolidators.py LOG FOLDER KILLS SEED` consolidates again and again until KILLS of
them were killed, says "killed" or "done" after each, and looks whether the generation that counts
is whole. Everything is loaded once, and each consolidator is a fork.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from hash_embedder import HashEmbedder
from prefect_swarm.memory.index.faiss import FaissIndex
from prefect_swarm.memory.index.generation import Damage, Pointer, open_generation, read_pointer
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.log.sqlite import SqliteLog

__all__ = ["SCRIPT"]

SCRIPT = Path(__file__)
_EVENTS = 110
"""About as many things as a consolidation asks of the system, by Python's count."""
_SECONDS = 0.4


def _die_at(event: int) -> Callable[[str, object], None]:
    left = event

    def hook(name: str, _: object) -> None:
        nonlocal left
        if name == "open" or name.startswith(("os.", "shutil.", "fcntl.", "tempfile.")):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def _consolidate(where: str, folder: Path, begun: int, death: int) -> None:
    """What a fork does; `death` is the event at which it kills itself, 0 for none."""
    log = SqliteLog(where)
    if death:
        sys.addaudithook(_die_at(death))
    os.write(begun, b".")
    consolidate(log, folder, HashEmbedder())


def _run_consolidator(where: str, folder: Path, dice: random.Random) -> bool:
    """Start a consolidator; return whether it was killed."""
    by = dice.choice(["event", "event", "clock", "clock", "nothing"])
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            death = dice.randint(1, _EVENTS) if by == "event" else 0
            _consolidate(where, folder, writing, death)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    os.read(reading, 1)
    if by == "clock":
        # It becomes readable when the other end is closed, which is when the fork has ended.
        select.select([reading], [], [], dice.uniform(0, _SECONDS))
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a consolidator failed")
    return os.WIFSIGNALED(status)


def _check_generation(folder: Path) -> None:
    pointer = read_pointer(folder)
    found = open_generation(folder, pointer) if isinstance(pointer, Pointer) else pointer
    if found is None or isinstance(found, Damage):
        raise SystemExit(f"no whole generation: {found}")
    found.close()


def main(where: str, folder: Path, kills: int, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    # What is loaded here isn't loaded by each fork, whose time is for what is to be interrupted.
    FaissIndex(HashEmbedder.dimension)
    log = SqliteLog(where)
    consolidate(log, folder, HashEmbedder())
    log.close()
    while kills:
        killed = _run_consolidator(where, folder, dice)
        kills -= killed
        _check_generation(folder)
        print("killed" if killed else "done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
