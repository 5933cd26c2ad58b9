"""A Prefect server that can be killed and started again on what it had stored."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

__all__ = ["Server"]

_START_S = 120.0
_HEARS_S = 20.0


class Server:
    """A server with its data in a folder, `home`, always at one address."""

    def __init__(self, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api"
        self.environment = {
            **os.environ,
            "PREFECT_HOME": str(home),
            "PREFECT_PROFILES_PATH": str(home / "profiles.toml"),
            "PREFECT_API_URL": self.url,
            "PREFECT_INTEGRATIONS_SWARM_HOME": str(home / "swarm"),
            "PREFECT_LOCAL_STORAGE_PATH": str(home / "results"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_LOGGING_LEVEL": "CRITICAL",
            "DO_NOT_TRACK": "1",
        }
        self.home = home
        self._port, self._log = port, home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "prefect", "server", "start", "--port", str(self._port)],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: see {self._log}")
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill it and what it started."""
        if self._process is not None:
            os.killpg(self._process.pid, 9)
            self._process.wait()
            self._process = None

    def open_task_runs(self) -> int:
        """Count the task runs that are RUNNING or PENDING, once the server has heard of their ends.

        It hears of them by events, a moment after they happened.
        """
        asked = {"task_runs": {"state": {"type": {"any_": ["RUNNING", "PENDING"]}}}}
        deadline = time.monotonic() + _HEARS_S
        while True:
            answer = httpx.post(f"{self.url}/task_runs/count", json=asked, timeout=10.0)
            count = int(answer.raise_for_status().json())
            if not count or time.monotonic() > deadline:
                return count
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=2.0).is_success
        except httpx.HTTPError:
            return False
