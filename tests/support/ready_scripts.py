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
from tempfile import TemporaryFile
from typing import IO

import ready_interpreter

__all__ = ["ReadyScript", "run_script", "start_script"]

Streams = tuple[int, int, int]
_IMPORTED = (
    "prefect.cli.deploy",
    "prefect.cli.worker",
    "prefect.server.api.server",
    "prefect.workers.process",
    "prefect_swarm.cli.app",
    "prefect_swarm.flows.batch",
    "prefect_swarm.flows.resume",
    "prefect_swarm.flows.swarm",
    "prefect_swarm.toolsets.mcp.connection",
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

    def communicate(self, timeout: float | None = None) -> tuple[str, int]:
        """Wait as `wait` does; return what was not read of the little that it printed, and that."""
        code = self.wait(timeout)
        if self.stdout.closed:
            return "", code
        with self.stdout:
            return self.stdout.read(), code

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            # It may have ended just now.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send it SIGTERM, if it still runs."""
        self.send_signal(signal.SIGTERM)


def start_script(
    script: Path,
    *arguments: object,
    environment: Mapping[str, str],
    without: tuple[str, ...] = (),
    streams: Streams | None = None,
) -> ReadyScript:
    """Run a Python script in this folder, in a process of its own.

    Args:
        script: Its path.
        arguments: What comes after its name.
        environment: All its variables.
        without: Modules that it can't import.
        streams: Its stdin, stdout and stderr, in a session of its own; if left out, it reads
            nothing, and what it prints is in `stdout`.
    """
    # Prefect reads its variables when it is imported, ours are read when they are needed.
    read_at_import = {
        (name, value)
        for name, value in environment.items()
        if name.startswith("PREFECT_") and not name.startswith("PREFECT_INTEGRATIONS_")
    }
    interpreter = _interpreter(frozenset(read_at_import), without)
    request = {
        "command": [str(script), *map(str, arguments)],
        "environment": dict(environment),
        "folder": os.getcwd(),
        "session": streams is not None,
    }
    output, output_end = os.pipe()
    report, report_end = os.pipe()
    with open(os.devnull) as nothing:
        of_script = streams or (nothing.fileno(), output_end, sys.stderr.fileno())
        message = [json.dumps(request).encode()]
        socket.send_fds(interpreter, message, [*of_script, report_end])
    os.close(output_end)
    os.close(report_end)
    return ReadyScript(output, report)


def run_script(
    script: Path,
    *arguments: object,
    environment: Mapping[str, str],
    without: tuple[str, ...] = (),
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run a script as `start_script` does, to its end; return what it printed."""
    with open(os.devnull) as nothing, TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        streams = (nothing.fileno(), output.fileno(), errors.fileno())
        started = start_script(
            script, *arguments, environment=environment, without=without, streams=streams
        )
        try:
            started.wait(timeout)
        finally:
            started.send_signal(signal.SIGKILL)
            code = started.communicate()[1]
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([script], code, output.read(), errors.read())


@cache
def _interpreter(variables: frozenset[tuple[str, str]], without: tuple[str, ...]) -> socket.socket:
    """Start the interpreter that scripts with these variables are forked from."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    names = (*(f"-{name}" for name in without), *_IMPORTED)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, ready_interpreter.__file__, str(theirs.fileno()), *names],
            # Without threads of its own it is safe to fork.
            env={**kept, **dict(variables), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            # It ends when this process does, and not before.
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
