"""What the processes of a sandbox use together, read from a /proc that shows only them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

__all__ = ["Watch", "kill_descendants"]

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


class Watch:
    """Sums over all processes but PID 1, the launcher's own.

    Shared memory without a file is in no process's sum, which is why the filter denies it.
    `folders` are descriptors of the memory-backed folders, `proc` one of the /proc to read.
    """

    def __init__(self, folders: list[int], proc: int) -> None:
        self._folders = folders
        self._proc = proc

    def memory(self, limit: int) -> int:
        """Return the bytes in use: private pages, and files in the folders.

        Pages that processes share since a fork count once for each, unless the sum is above
        `limit`: then shared pages count once, which takes the kernel longer.
        """
        fixed = self._files()
        total = fixed + sum(self._private(pid) for pid in self._processes())
        if total <= limit:
            return total
        return fixed + sum(self._proportional(pid) for pid in self._processes())

    def cpu_s(self) -> float:
        """Return the processor seconds of all processes and of those they have waited for."""
        total = 0
        for pid in ["1", *self._processes()]:
            fields = self._read(pid, "stat").rpartition(")")[2].split()
            if pid == "1":
                total += sum(map(int, fields[13:15]))
            else:
                total += sum(map(int, fields[11:15]))
        return total / _TICKS

    def _processes(self) -> Iterator[str]:
        return (name for name in os.listdir(self._proc) if name.isdecimal() and name != "1")

    def _read(self, pid: str, name: str) -> str:
        """Return a file of a process; "" if the process is gone or the file closed to us."""
        try:
            file = os.open(f"{pid}/{name}", os.O_RDONLY, dir_fd=self._proc)
            with open(file, encoding="utf-8", errors="replace") as opened:
                return opened.read()
        except OSError:
            return ""

    def _files(self) -> int:
        used = 0
        for folder in self._folders:
            found = os.fstatvfs(folder)
            used += (found.f_blocks - found.f_bfree) * found.f_frsize
        return used

    def _private(self, pid: str) -> int:
        return _KIB * _sum_of(self._read(pid, "status"), ("RssAnon:", "VmSwap:"))

    def _proportional(self, pid: str) -> int:
        rollup = self._read(pid, "smaps_rollup")
        if not rollup:
            return self._private(pid)
        return _KIB * _sum_of(rollup, ("Pss_Anon:", "SwapPss:"))


def _sum_of(text: str, names: tuple[str, ...]) -> int:
    """Sum the KiB that stand behind `names`."""
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(names))


def kill_descendants() -> None:
    """Kill this process's children and theirs, round by round until none is left.

    For a run without namespaces; this process must be the one that orphans fall to.
    """
    while found := _descendants(os.getpid()):
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", errors="replace") as file:
            parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found
