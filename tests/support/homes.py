"""Homes of a test: each has files, processes, a user and a name of its own, as a container has.

They share the network and the socket of a PostgreSQL server, and the package that is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from own_server import kill_tree
from runs_database import STORE

__all__ = ["HOME", "NEEDS_HOMES", "Home", "home_of"]

NEEDS_HOMES = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap makes the homes")

HOME = "/home/swarm"
"""Where a process of a home finds its own files; nothing of another home's is there."""
_COMMAND = Path(sys.executable)
_INSTALLED = (sys.base_prefix, sys.prefix, str(Path(__file__).parents[2]))
"""The interpreter, the environment and the package, which may lie in a folder that is hidden."""


@dataclass(frozen=True, slots=True)
class Home:
    """One of them.

    Attributes:
        name: What its host is called.
        folder: Where its files are, for the test.
        shared: Paths that its processes see besides, such as that of a server's socket.
        variables: What its processes are given: addresses of servers, and no path of a home.
    """

    name: str
    folder: Path
    shared: tuple[str, ...]
    variables: Mapping[str, str]

    def command(self, *arguments: object) -> list[str]:
        """Return the command that runs a program in it."""
        files = [*_INSTALLED, os.environ["SSL_CERT_FILE"], *self.shared]
        return [
            *("bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc"),
            *("--unshare-uts", "--hostname", self.name),
            *("--unshare-user", "--uid", str(_user(self.name)), "--gid", str(_user(self.name))),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *("--tmpfs", "/tmp", "--tmpfs", "/home"),  # noqa: S108 - an empty one of its own
            *("--bind", str(self.folder), HOME, "--chdir", HOME),
            *(word for path in files for word in ("--ro-bind", path, path)),
            *map(str, arguments),
        ]

    def call(self, *arguments: object, code: int = 0) -> str:
        """Run a program of the environment to its end; return what it printed."""
        program, *rest = arguments
        done = subprocess.run(
            self.command(_COMMAND.with_name(str(program)), *rest),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout

    def start(self, *arguments: object, output: Path) -> subprocess.Popen[bytes]:
        """Start a program of the environment, which writes into a file; `kill_tree` kills it."""
        program, *rest = arguments
        with output.open("ab") as file:
            return subprocess.Popen(
                self.command(_COMMAND.with_name(str(program)), *rest),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def with_variables(self, **variables: str) -> Home:
        """Return it with other variables."""
        return replace(self, variables={**self.variables, **variables})

    @contextmanager
    def worker(self, pool: str = "swarm") -> Generator[subprocess.Popen[bytes]]:
        """Run a worker inside; it and what it started are killed at the end."""
        command = ("prefect", "worker", "start", "--pool", pool)
        process = self.start(*command, output=self.folder / "worker.log")
        try:
            yield process
        finally:
            kill_tree(process.pid)
            process.wait(60)

    def log(self) -> str:
        """Return what its workers and their flow runs wrote."""
        with suppress(FileNotFoundError):
            return (self.folder / "worker.log").read_text("utf-8")
        return ""

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        return {
            **own,
            "HOME": HOME,
            "COLUMNS": "400",
            "PREFECT_HOME": f"{HOME}/.prefect",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            **self.variables,
        }


def home_of(name: str, root: Path, api: str, database: str) -> Home:
    """Return the home of a name, which is empty at first.

    Args:
        root: Where its files are to be, in a folder of its name.
        api: The Prefect server's address.
        database: That of the database that runs are stored in, behind a socket of a folder.
    """
    (folder := root / name).mkdir(exist_ok=True)
    addresses = {"PREFECT_API_URL": api, STORE: database}
    return Home(name, folder, (database.rpartition("host=")[2],), addresses)


def _user(name: str) -> int:
    """Return the number of a home's user, which no other home has."""
    return 2000 + sum(name.encode())
