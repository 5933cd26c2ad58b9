"""Scripts in processes of their own that needn't import everything first."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from select import select
from typing import IO

import ready_interpreter

__all__ = ["ReadyScript", "start_script"]

_IMPORTED = (
    "prefect.server.api.server",
    "prefect_swarm.flows.batch",
    "prefect_swarm.flows.forking.python",
    "prefect_swarm.flows.resume",
    "prefect_swarm.flows.swarm",
    "pydantic_ai.models.function",
    "pydantic_ai.models.openai",
)
"""What scripts import, and what those modules import once they run."""


class ReadyScript:
    """A script that runs in a process of its own: the part of `subprocess.Popen` that tests use."""

    def __init__(self, output: int, report: int) -> None:
        self.stdout: IO[str] = os.fdopen(output, encoding="utf-8")
        self._report = os.fdopen(report, "rb", buffering=0)
        self.pid = int(self._report.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return what it ended with, or the negative of a signal; None while it runs."""
        if self.returncode is None and select([self._report], [], [], 0)[0]:
            self.returncode = int(self._report.readline())
            self._report.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, or so many seconds; return as `poll` does."""
        if self.returncode is None:
            select([self._report], [], [], timeout)
        if (ended := self.poll()) is None:
            raise TimeoutError(f"process {self.pid} still runs after {timeout} s")
        return ended

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Wait until it has ended; return what was not read of the little that it printed."""
        self.wait(timeout)
        with self.stdout:
            return self.stdout.read(), None

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            # It may have ended just now.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send it SIGTERM, if it still runs."""
        self.send_signal(signal.SIGTERM)


def start_script(script: Path, *arguments: object, environment: Mapping[str, str]) -> ReadyScript:
    """Run a Python script in this folder, in a process of its own.

    Args:
        script: Its path.
        arguments: What comes after its name.
        environment: All its variables.
    """
    # Prefect reads its variables when it is imported, ours are read when they are needed.
    read_at_import = {
        (name, value)
        for name, value in environment.items()
        if name.startswith("PREFECT_") and not name.startswith("PREFECT_INTEGRATIONS_")
    }
    interpreter = _interpreter(frozenset(read_at_import))
    request = {
        "command": [str(script), *map(str, arguments)],
        "environment": dict(environment),
        "folder": os.getcwd(),
    }
    output, output_end = os.pipe()
    report, report_end = os.pipe()
    files = [output_end, sys.stderr.fileno(), report_end]
    socket.send_fds(interpreter, [json.dumps(request).encode()], files)
    os.close(output_end)
    os.close(report_end)
    return ReadyScript(output, report)


@cache
def _interpreter(variables: frozenset[tuple[str, str]]) -> socket.socket:
    """Start the interpreter that scripts with these variables are forked from."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, ready_interpreter.__file__, str(theirs.fileno()), *_IMPORTED],
            # Without threads of its own it is safe to fork.
            env={**kept, **dict(variables), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
