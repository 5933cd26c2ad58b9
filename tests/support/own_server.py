"""A Prefect server of a test's own, with its services on and quick, and workers of its pool."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from prefect.events.worker import EventsWorker
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
    temporary_settings,
)
from ready_scripts import ReadyScript, start_script

__all__ = ["OwnServer", "own_server"]

QUICK = {
    "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_AFTER_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_FOREMAN_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "1",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs,orphans",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_LOOP_SECONDS": "10",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ORPHAN_CLEANUP_LOOP_SECONDS": "10",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "0.2",
}
"""All services that a server has, often; what looks through the whole database is not awaited."""
_PREFECT = Path(__file__).with_name("prefect_script.py")
_START_S = 600.0
_DRAIN_S = 30.0


@dataclass(slots=True)
class OwnServer:
    """The server, and what begins its workers.

    Attributes:
        url: Its API's.
        log: What it wrote.
        environment: The variables of everything that works with it.
    """

    url: str
    log: Path
    environment: dict[str, str]

    @contextmanager
    def worker(self, *, pool: str = "swarm", **variables: str) -> Generator[ReadyScript]:
        """Run a worker inside; it and the flow runs that it started are killed at the end."""
        environment = {**self.environment, "PREFECT_WORKER_QUERY_SECONDS": "1", **variables}
        with _started(self.log.with_name("worker.log"), environment, "worker", pool) as worker:
            yield worker


@contextmanager
def own_server(folder: Path, database: Path, **variables: str) -> Generator[OwnServer]:
    """Run a server inside, which this process's settings name.

    Args:
        folder: Where its database and its log are to be.
        database: A database as a server has it at first.
        variables: Further variables, of the server and of the workers.
    """
    folder.mkdir(parents=True)
    shutil.copyfile(database, folder / "prefect.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    # The certificate and the rest of the tests' settings hold here, too.
    environment = {
        **os.environ,
        **variables,
        "PREFECT_HOME": str(folder),
        "PREFECT_API_URL": url,
        "PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/prefect.db",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",
    }
    of_server = {**environment, **QUICK}
    log = folder / "server.log"
    settings: dict[Any, Any] = {PREFECT_API_URL: url, PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False}
    with _started(log, of_server, "server", str(port)) as server:
        wait_for(lambda: _answers(url, server, log), "the server")
        # One worker of a process sends all events, to the server that it first found. What it has
        # not sent when that is killed, it would try to send for hours.
        _send_events()
        with temporary_settings(updates=settings):
            try:
                yield OwnServer(url, log, environment)
            finally:
                _send_events()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = _START_S) -> None:
    """Return when it holds; it is looked at ten times a second.

    On a busy machine each process takes a minute to start.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {seconds} s"
        time.sleep(0.1)


def kill_tree(pid: int) -> None:
    """Kill a process and all that it started, at once, as the end of a machine does."""
    stopped: set[psutil.Process] = set()
    # Until it is stopped it may start another one.
    while new := _family(pid) - stopped:
        for member in new:
            with suppress(psutil.Error):
                member.suspend()
        stopped |= new
    for member in stopped:
        with suppress(psutil.Error):
            member.kill()


def _family(pid: int) -> set[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return {process, *process.children(recursive=True)}
    return set()


def _send_events() -> None:
    """Have what this process would send of events sent, and a new worker send the next ones."""
    EventsWorker.drain_all(timeout=_DRAIN_S)


def _answers(url: str, server: ReadyScript, log: Path) -> bool:
    assert server.poll() is None, log.read_text()
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/health", timeout=5).is_success
    return False


@contextmanager
def _started(
    log: Path, environment: dict[str, str], kind: str, name: str
) -> Generator[ReadyScript]:
    option = "--port" if kind == "server" else "--pool"
    with log.open("ab") as output, open(os.devnull) as nothing:
        streams = (nothing.fileno(), output.fileno(), output.fileno())
        process = start_script(
            _PREFECT, kind, "start", option, name, environment=environment, streams=streams
        )
        try:
            yield process
        finally:
            kill_tree(process.pid)
            process.communicate(60)
