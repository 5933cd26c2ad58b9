"""A Dask scheduler on loopback, and workers that share nothing with a test but their addresses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["DaskCluster", "DaskWorker", "dask_cluster", "executing"]

_START_S = 60.0
_WARNINGS = "ignore"


@dataclass
class DaskWorker:
    """A worker in a process of its own.

    Attributes:
        name: What the scheduler calls it.
        home: Its data folder.
        log: What it wrote.
    """

    name: str
    home: Path
    log: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Have it stand still; `kill` ends it all the same."""
        self.process.send_signal(signal.SIGSTOP)


@dataclass
class DaskCluster:
    """The scheduler, and what begins its workers.

    Attributes:
        address: The scheduler's.
        folder: Where the workers have their homes.
    """

    address: str
    folder: Path
    scheduler: subprocess.Popen[bytes]
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def executor(self) -> str:
        """The option that names it."""
        return f"dask:{self.address}"

    def worker(self, name: str, *arguments: str, threads: int = 4, **variables: str) -> DaskWorker:
        """Begin a worker with a home of its own, and wait until the scheduler has it.

        Args:
            name: The worker's.
            arguments: Those of `dask worker`.
            threads: How many attempts it works on at once.
            variables: Those of its environment that aren't the test's.
        """
        home = self.folder / name
        home.mkdir()
        log = self.folder / f"{name}.log"
        environment = {
            **os.environ,
            "PREFECT_HOME": str(home / "prefect"),
            "PREFECT_INTEGRATIONS_SWARM_HOME": str(home / "swarm"),
            "PYTHONPATH": str(Path(__file__).parent),
            "PYTHONWARNINGS": _WARNINGS,
            **variables,
        }
        process = self._stack.enter_context(
            _process(
                log,
                "dask_worker",
                self.address,
                *("--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--name", name),
                *("--nthreads", str(threads), "--local-directory", str(home / "dask")),
                *arguments,
                environment=environment,
            )
        )
        _wait(lambda: b"Registered to" in log.read_bytes(), process, log)
        return DaskWorker(name, home / "swarm", log, process)

    def close(self) -> None:
        """End the workers."""
        self._stack.close()


@contextmanager
def dask_cluster(folder: Path, port: int = 0) -> Generator[DaskCluster]:
    """Begin a scheduler inside; workers are begun by what it yields."""
    folder.mkdir(parents=True, exist_ok=True)
    log, file = folder / "scheduler.log", folder / "scheduler.json"
    with _process(
        log,
        "dask_scheduler",
        *("--host", "127.0.0.1", "--port", str(port), "--no-dashboard"),
        *("--scheduler-file", str(file)),
        environment={**os.environ, "PYTHONWARNINGS": _WARNINGS},
    ) as process:
        _wait(lambda: file.exists() and file.read_bytes().endswith(b"}"), process, log)
        address = json.loads(file.read_text("utf-8"))["address"]
        cluster = DaskCluster(address, folder, process)
        try:
            yield cluster
        finally:
            cluster.close()


@contextmanager
def _process(
    log: Path, module: str, *arguments: str, environment: dict[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
            env=environment,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _wait(is_so: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _START_S
    while not is_so():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"it did not start: {log.read_text('utf-8')}")
        time.sleep(0.05)


def executing(dask_worker: Any = None) -> int:
    """Return how much a worker works on; for `Client.run`."""
    return len(dask_worker.state.executing)
