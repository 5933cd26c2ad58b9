"""What `store/protocol.py` promises, as checks that any adapter of `RunStore` can be put to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import pytest
from prefect_swarm.store.protocol import RunStore

__all__ = ["Adapter", "in_processes", "in_threads", "killed_after"]

FORK = get_context("fork")
TOGETHER = 6


@dataclass(frozen=True)
class Adapter:
    """A kind of store: how a run of it is opened, and what only its own tools can do to it.

    Attributes:
        open: Returns the store of a run by its id; any number of processes may.
        tear: Leaves the beginning of an entry behind what was appended, as a kill does: to the
            accounts, the events, or a journal of calls by its name.
        damage: Puts something else in the place of what is kept.
        leftovers: The names of what is kept, temporary things among it.
        fill: Leaves no room for a file that would be replaced.
    """

    open: Callable[[str], RunStore]
    tear: Callable[[RunStore, str], None]
    damage: Callable[[RunStore, str], None]
    leftovers: Callable[[RunStore], set[str]]
    fill: Callable[[pytest.MonkeyPatch], None]


def in_processes(work: Callable[[int], bool]) -> list[bool]:
    """Do the same in several processes at the same moment; return what each returned."""
    barrier, pipes = FORK.Barrier(TOGETHER), [FORK.Pipe() for _ in range(TOGETHER)]

    def run(number: int, out: Connection, barrier: Barrier) -> None:
        barrier.wait()
        out.send(work(number))

    processes = [
        FORK.Process(target=run, args=(number, pipe[1], barrier))
        for number, pipe in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    found = [bool(pipe[0].recv()) for pipe in pipes]
    for process in processes:
        process.join()
    return found


def killed_after(count: int, work: Callable[[int], None]) -> int:
    """Do work for 0, 1, 2 … in a process that is killed after so many; return how many it did."""
    reading, writing = os.pipe()
    if (process := os.fork()) == 0:
        for number in range(1_000_000):
            work(number)
            os.write(writing, b".")
    os.close(writing)
    done = 0
    while done < count:
        done += len(os.read(reading, 1))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    while more := os.read(reading, 4096):
        done += len(more)
    os.close(reading)
    return done


def in_threads(work: Callable[[int], None], many: int) -> None:
    """Do work for 0 … `many` - 1 in several threads."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(work, range(many)))
