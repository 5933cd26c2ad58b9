"""A Prefect server of a bench's own, as users have it: `prefect server start`, with SQLite."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

__all__ = ["run_with_prefect"]

START_S = 120.0
STOP_S = 10.0


def run_with_prefect(script: str) -> str:
    """Run a script of the benches in a process of its own, beside a fresh server; its output.

    What it measures is then its own: no settings of the user's, no threads of other benches.
    """
    with _server() as environment:
        command = [sys.executable, script, "--here"]
        return subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout


@contextmanager
def _server() -> Generator[Mapping[str, str]]:
    """Start a server whose home is a temporary folder; yield what its clients' environment is."""
    with TemporaryDirectory(prefix="prefect-swarm-bench-", ignore_cleanup_errors=True) as home:
        port = _free_port()
        url = f"http://127.0.0.1:{port}/api"
        environment = _environment(home)
        with (Path(home) / "server.log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            try:
                _wait_for(f"{url}/health", server)
                yield {**environment, "PREFECT_API_URL": url}
            finally:
                _stop(server)


def _environment(home: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return {
        **kept,
        "PREFECT_HOME": home,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    }


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            if httpx.get(url).is_success:
                return
        time.sleep(0.2)
    raise RuntimeError(f"The Prefect server of the bench did not answer at {url}.")


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(STOP_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
