"""A Prefect server of a bench's own, as users have it: `prefect server start`, with SQLite."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

__all__ = ["OwnServer", "own_server", "run_beside", "run_with_prefect"]

START_S = 120.0
STOP_S = 10.0


class OwnServer:
    """A server with its data in a folder, `home`, always at one address.

    `environment` is what its clients run in: no settings of the user's are. The variables are the
    server's alone.
    """

    def __init__(self, home: Path, **variables: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self.home = home
        self.url = f"http://127.0.0.1:{self._port}/api"
        own = {name: text for name, text in os.environ.items() if not name.startswith("PREFECT_")}
        self.environment = {
            **own,
            "PREFECT_HOME": str(home),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
            "PREFECT_API_URL": self.url,
        }
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers.

        Raises:
            RuntimeError: It doesn't.
        """
        with (self.home / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "prefect", "server", "start", "--port", str(self._port)],
                env=self.environment | self._variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_S
        while self._process.poll() is None and time.monotonic() < deadline:
            with suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health").is_success:
                    return
            time.sleep(0.2)
        raise RuntimeError(f"The Prefect server of the bench did not answer at {self.url}.")

    def stop(self) -> None:
        """Have it end, and kill it if it takes long."""
        if self._process is None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_S)
        self.kill()

    def kill(self) -> None:
        """Kill it and what it started; what it had not written is lost."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        self._process = None


@contextmanager
def own_server(**variables: str) -> Generator[OwnServer]:
    """Run a server inside, whose data goes at the end; the variables are the server's alone."""
    with TemporaryDirectory(prefix="prefect-swarm-bench-", ignore_cleanup_errors=True) as home:
        server = OwnServer(Path(home), **variables)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def run_with_prefect(script: str, *arguments: str) -> str:
    """Run a script of the benches in a process of its own, beside a fresh server; its output.

    It gets the argument `--here` and those that are named. What it measures is then its own: no
    settings of the user's, no threads of other benches.
    """
    with own_server() as server:
        return run_beside(server, script, *arguments)


def run_beside(server: OwnServer, script: str, *arguments: str) -> str:
    """Run a script as `run_with_prefect` does, beside a server that is there; its output."""
    return subprocess.run(
        [sys.executable, script, "--here", *arguments],
        env=server.environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
