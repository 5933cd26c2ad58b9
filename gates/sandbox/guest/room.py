"""Runs in the sandbox: gives each act an empty room, with its own files and nobody else in it."""

from __future__ import annotations

import os
import secrets
import signal
import stat
from collections.abc import Mapping


class Room:
    """The folders that a program can write to, and its processes.

    `isolated` is whether all processes that can be seen are the sandbox's own; elsewhere only
    those that descend from this one are, and they must fall to it when they are orphans.
    """

    def __init__(self, folders: list[str], isolated: bool) -> None:
        self._isolated = isolated
        # Where the interpreter lies below a temporary folder, it is shown there.
        self._shown = {path for folder in folders[1:] for path in _tree(folder)}
        self._folders = folders

    def prepare(self, folder: str, files: Mapping[str, str]) -> None:
        """Empty the folders, and write an act's files below `folder`."""
        for place in self._folders:
            os.chmod(place, stat.S_IRWXU)
            self._empty(place)
        for path, text in files.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "x", encoding="utf-8", newline="") as file:
                file.write(text)
        os.makedirs(folder, exist_ok=True)

    def end_processes(self) -> None:
        """Kill all other processes, and wait until they are gone."""
        while True:
            if self._isolated:
                _kill(-1)
            else:
                for pid in _descendants(os.getpid()):
                    _kill(pid)
            try:
                while os.waitpid(-1, 0 if self._isolated else os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return

    def _empty(self, place: str) -> None:
        """Remove what is in a folder, however deep, without following a link.

        What lies in a folder moves up into `place`: no path gets long, and nothing recurses.
        """
        while found := [entry for entry in os.scandir(place) if entry.path not in self._shown]:
            for entry in found:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, stat.S_IRWXU)
                for inner in list(os.scandir(entry.path)):
                    if inner.is_dir(follow_symlinks=False):
                        os.chmod(inner.path, stat.S_IRWXU)  # or it could not be moved
                    os.rename(inner.path, os.path.join(place, secrets.token_hex(8)))
                os.rmdir(entry.path)
        for entry in os.scandir(place):
            if entry.is_dir(follow_symlinks=False) and not os.path.ismount(entry.path):
                self._empty(entry.path)


def _tree(folder: str) -> list[str]:
    found: list[str] = []
    for entry in os.scandir(folder):
        found.append(entry.path)
        if entry.is_dir(follow_symlinks=False) and not os.path.ismount(entry.path):
            found += _tree(entry.path)
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", errors="replace") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # It has ended.
            continue
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found
