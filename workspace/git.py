"""Calls of git on a repository of a run's own, whatever the user has configured."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Timer

from ..errors import WorkspaceError
from ..text import one_line

__all__ = ["OLDEST", "Git", "GitFailedError", "git_version", "read_only"]

OLDEST: tuple[int, ...] = (2, 38)
"""The first version that merges trees without a working folder (`git merge-tree --write-tree`)."""
SECONDS = 300.0
"""What a call may take; a folder for which that is too little is too large to be copied."""
_INSTALL = f"Install git {OLDEST[0]}.{OLDEST[1]} or newer, and have it on PATH."
# What a user or a system has configured may run programs, or change what files hold.
_OWN = {
    "core.autocrlf": "false",
    "core.fileMode": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "core.untrackedCache": "false",
    "diff.renames": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.renames": "true",
    "advice.addEmbeddedRepo": "false",
}


class GitFailedError(WorkspaceError):
    """Git said no; `status` is its exit code and `output` what it printed before."""

    def __init__(self, problem: str, status: int, output: bytes) -> None:
        super().__init__(problem)
        self.status = status
        self.output = output


@cache
def git_version() -> tuple[int, ...]:
    """Return the version of git here.

    Raises:
        WorkspaceError: There is none, or it is older than `OLDEST`.
    """
    if (tool := shutil.which("git")) is None:
        raise WorkspaceError("A workspace needs git, and there is none on PATH.", _INSTALL)
    printed = _call([tool, "--version"], b"", {}, "/")
    found = re.search(r"(\d{1,6})\.(\d{1,6})", printed.decode("utf-8", "replace"))
    version: tuple[int, ...] = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < OLDEST:
        shown = ".".join(map(str, version))
        raise WorkspaceError(f"A workspace needs a newer git; that on PATH is {shown}.", _INSTALL)
    return version


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one bare repository, with an index or a working folder for single calls."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: float = SECONDS

    def __call__(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        work: Path | None = None,
        environment: Mapping[str, str] | None = None,
        most: int | None = None,
    ) -> bytes:
        """Return what git prints.

        Args:
            most: Bytes that are returned of it, for a call that reads nothing; None for all.
            index: The index that the call reads and writes.
            work: The working folder.
            environment: Variables that it sees besides.

        Raises:
            GitFailedError: Git says no.
            WorkspaceError: There is no git, or it takes longer than `seconds`.
        """
        git_version()
        options = [part for item in {**_OWN, **self.settings}.items() for part in _option(*item)]
        places = {"GIT_DIR": str(self.folder)}
        if index is not None:
            places["GIT_INDEX_FILE"] = str(index)
        if work is not None:
            places["GIT_WORK_TREE"] = str(work)
        where = str(work or self.folder)
        whole = {**places, **(environment or {})}
        return _call(["git", *options, *arguments], stdin, whole, where, self.seconds, most)


def read_only(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Return what git prints of a user's repository, as they configured it, and write nothing.

    Raises:
        GitFailedError: Git says no.
        WorkspaceError: There is no git.
    """
    git_version()
    kept = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
    own = {
        **kept,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_GLOBAL": None,
        "GIT_CONFIG_NOSYSTEM": None,
    }
    command = ["git", "-c", "core.fsmonitor=false", *arguments]
    return _call(command, stdin, own, str(folder))


def _option(name: str, value: str) -> tuple[str, str]:
    return "-c", f"{name}={value}"


def _call(
    command: list[str],
    stdin: bytes,
    environment: Mapping[str, str | None],
    where: str,
    seconds: float = SECONDS,
    most: int | None = None,
) -> bytes:
    whole = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        **environment,
    }
    given = {name: value for name, value in whole.items() if value is not None}
    try:
        if most is not None:
            done = _first(command, given, where, seconds, most)
        else:
            done = subprocess.run(  # noqa: S603 - git alone, with arguments of our own
                command,
                input=stdin,
                capture_output=True,
                env=given,
                cwd=where,
                timeout=seconds,
                # What is checked out is read by the sandbox's user; the folder around it is closed.
                umask=0o022,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise WorkspaceError(
            f"git {_name(command)} took more than {seconds:g} s.",
            "Ask for less, or name a smaller folder as the workspace.",
        ) from None
    except OSError as error:
        raise WorkspaceError(f"git can't be started: {error}.", _INSTALL) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        problem = f"git {_name(command)} failed: {one_line(said, 600) or 'it says nothing'}"
        raise GitFailedError(problem, done.returncode, done.stdout)
    return done.stdout


def _first(
    command: list[str], environment: dict[str, str], where: str, seconds: float, most: int
) -> subprocess.CompletedProcess[bytes]:
    """Run a call until it has printed so many bytes; it is ended then."""
    with subprocess.Popen(  # noqa: S603 - git alone, with arguments of our own
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=where,
    ) as process:
        if process.stdout is None or process.stderr is None:
            raise TypeError("a pipe that was asked for is missing")
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            printed = process.stdout.read(most)
            is_whole = not process.stdout.read(1)
            if not is_whole:
                process.kill()
            said = process.stderr.read()
            status = process.wait()
        finally:
            timer.cancel()
    if is_whole and status == -signal.SIGKILL:
        raise subprocess.TimeoutExpired(command, seconds)
    return subprocess.CompletedProcess(command, status if is_whole else 0, printed, said)


def _name(command: list[str]) -> str:
    """Return which of git's commands it is."""
    words = iter(command[1:])
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""
