"""A shell in which `prefect-swarm` is done by the test's own process: quick, with pipes and files.

Each start of a real process would import Prefect again, which takes a second or two.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["Done", "Shell", "shell"]

_CLIENT = """#!{python} -ISs
import json, os, socket, sys
asked = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "variables": dict(os.environ)}}
asked["stdin"] = "" if sys.stdin.isatty() else sys.stdin.read()
with socket.socket(socket.AF_UNIX) as link:
    link.connect({address!r})
    with link.makefile("rw") as file:
        file.write(json.dumps(asked) + chr(10))
        file.flush()
        done = json.loads(file.readline())
ends = [os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr)]
if os.path.samestat(*ends):
    sys.stdout.write(done["output"])
else:
    sys.stdout.write(done["stdout"])
    sys.stderr.write(done["stderr"])
sys.exit(done["code"])
"""
_LONGEST_S = 240.0
_FAILED = 70
"""The exit code where the command broke instead of saying what is wrong."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left: its exit code, and what it wrote to both streams, in its order."""

    code: int
    output: str


@dataclass
class Shell:
    """Runs commands in a folder, one after the other; files and variables stay.

    Attributes:
        folder: Where commands are run.
        variables: What is in the environment besides the process's own.
    """

    folder: Path
    listener: socket.socket
    programs: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, command: str) -> Done:
        """Run a command.

        Raises:
            TimeoutError: It takes too long.
        """
        with TemporaryDirectory() as folder, Path(folder, "output").open("w+") as written:
            process = subprocess.Popen(
                ["bash", "-c", f"set -o pipefail\n{command}"],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
            )
            try:
                self._serve(process)
            finally:
                process.kill()
                process.wait()
            written.seek(0)
            return Done(process.returncode, written.read())

    def _serve(self, process: subprocess.Popen[bytes]) -> None:
        """Do what `prefect-swarm` is asked for until the shell ends."""
        end = time.monotonic() + _LONGEST_S
        while process.poll() is None:
            with contextlib.suppress(TimeoutError):
                connection, _ = self.listener.accept()
                with connection, connection.makefile("rw") as file:
                    done = _invoked(json.loads(file.readline()))
                    file.write(json.dumps(done) + "\n")
                    file.flush()
            if time.monotonic() > end:
                raise TimeoutError(f"longer than {_LONGEST_S:.0f} s")

    def _environment(self) -> dict[str, str]:
        scripts = sysconfig.get_path("scripts")
        path = os.pathsep.join([str(self.programs), scripts, os.environ["PATH"]])
        return {**os.environ, "COLUMNS": "160", **self.variables, "PATH": path}


@contextmanager
def shell(folder: Path) -> Generator[Shell]:
    """Open a shell in a folder."""
    # The address of a socket has at most 107 characters.
    with TemporaryDirectory(prefix="docs-") as programs, socket.socket(socket.AF_UNIX) as listener:
        address = f"{programs}/socket"
        listener.bind(address)
        listener.listen()
        listener.settimeout(0.02)
        client = Path(programs, "prefect-swarm")
        client.write_text(_CLIENT.format(python=sys.executable, address=address), "utf-8")
        client.chmod(0o755)
        yield Shell(folder, listener, Path(programs))


def _invoked(asked: Mapping[str, Any]) -> dict[str, Any]:
    from prefect_swarm.cli.app import app
    from typer.testing import CliRunner

    with _variables(asked["variables"]), contextlib.chdir(asked["folder"]):
        result = CliRunner().invoke(app, asked["arguments"], input=asked["stdin"])
    broken = result.exception is not None and not isinstance(result.exception, SystemExit)
    text = f"broken: {result.exception!r}\n" if broken else ""
    return {
        "code": _FAILED if broken else result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr + text,
        "output": result.output + text,
    }


@contextmanager
def _variables(given: Mapping[str, str]) -> Generator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(given)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
