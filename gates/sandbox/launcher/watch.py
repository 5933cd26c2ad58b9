"""Resource use of a sandbox's processes, and the control group that bounds it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

__all__ = ["CpuTime", "Group", "Times", "Watch", "kill_descendants", "send_buffer"]


class Times(NamedTuple):
    """Seconds of a process and of its children that it has waited for; whether it computes now."""

    own: float
    waited: float
    computing: bool


class CpuTime:
    """The sum over all processes that ever were, brought up to date by each look."""

    def __init__(self) -> None:
        self._before: Mapping[object, Times] | None = None
        self._gone = 0.0
        self._collected = 0.0

    def look(self, seen: Mapping[object, Times], elapsed_s: float) -> float:
        """Return the seconds so far; `seen` is what there is now, by what tells processes apart."""
        # What was before the first look is not a sign of anything.
        known = seen if self._before is None else self._before
        for process, times in known.items():
            if process not in seen:
                self._gone += times.waited + _at_the_end(times, elapsed_s)
        for process, times in seen.items():
            before = known.get(process)
            self._collected += times.waited - (before.waited if before else 0.0)
        self._before = dict(seen)
        alive = sum(times.own + times.waited for times in seen.values())
        return alive + max(0.0, self._gone - self._collected)


def _at_the_end(last: Times, elapsed_s: float) -> float:
    return max(elapsed_s, last.own + elapsed_s / 2) if last.computing else last.own


_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024
# A message may begin to be written while a buffer has room for a byte, and takes its size again.
_BUFFERS = 2
# A socket for datagrams holds those of ten senders that are gone already, and its own.
_BUFFERS_OF_DATAGRAMS = 11 * _BUFFERS
_DATAGRAMS = "0002"


class Watch:
    """Sums over all processes but PID 1, the launcher's own.

    Shared memory without a file is in no process's sum, which is why the filter denies it.
    `folders` are descriptors of the memory-backed folders, `proc` one of the /proc to read;
    `buffer` is what the kernel lets a socket send before it is read.
    """

    def __init__(self, folders: list[int], proc: int, buffer: int) -> None:
        self._folders = folders
        self._proc = proc
        self._buffer = buffer
        self._cpu = CpuTime()
        self._looked = time.monotonic()

    def memory(self, limit: int) -> int:
        """Return the bytes in use: private pages, files in the folders, and what sockets may hold.

        Pages that processes share since a fork count once for each, unless the sum is above
        `limit`: then shared pages count once, which takes the kernel longer.
        """
        fixed = self._files() + self._sockets()
        found = list(self._memories())
        total = fixed + sum(_private(status) for _, status in found)
        if total <= limit:
            return total
        return fixed + sum(self._proportional(task, status) for task, status in found)

    def cpu_s(self) -> float:
        """Return the processor seconds of all processes, those that are gone among them."""
        seen: dict[object, Times] = {}
        # A parent's number is below its child's, mostly: a child that ends meanwhile isn't counted
        # twice.
        for pid in ["1", *sorted(self._processes(), key=int)]:
            fields = self._read(pid, "stat").rpartition(")")[2].split()
            if fields:
                own, waited = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
                computing = fields[0] == "R" and pid != "1"
                times = Times(0 if pid == "1" else own / _TICKS, waited / _TICKS, computing)
                seen[pid, fields[19]] = times
        now = time.monotonic()
        elapsed, self._looked = now - self._looked, now
        return self._cpu.look(seen, elapsed)

    def _processes(self) -> Iterator[str]:
        return (name for name in os.listdir(self._proc) if name.isdecimal() and name != "1")

    def _memories(self) -> Iterator[tuple[str, str]]:
        """Give a task of each process that has memory, and its status.

        A process whose first thread has ended lives on with the others, and so does its memory.
        """
        for pid in self._processes():
            for task in chain((pid,), self._tasks(pid)):
                status = self._read(task, "status")
                if "VmRSS:" in status:
                    yield task, status
                    break

    def _tasks(self, pid: str) -> Iterator[str]:
        with contextlib.suppress(OSError):  # It has ended.
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
            try:
                yield from (f"{pid}/task/{name}" for name in os.listdir(folder))
            finally:
                os.close(folder)

    def _read(self, task: str, name: str) -> str:
        """Return a file of a task; "" if the task is gone or the file closed to us."""
        try:
            file = os.open(f"{task}/{name}", os.O_RDONLY, dir_fd=self._proc)
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

    def _sockets(self) -> int:
        """Return the most that the sockets may hold: how much they do the kernel doesn't say."""
        lines = self._read("1/net", "unix").splitlines()[1:]
        datagrams = sum(line.split()[4] == _DATAGRAMS for line in lines)
        streams = len(lines) - datagrams
        return self._buffer * (_BUFFERS * streams + _BUFFERS_OF_DATAGRAMS * datagrams)

    def _proportional(self, task: str, status: str) -> int:
        rollup = self._read(task, "smaps_rollup")
        if not rollup:
            return _private(status)
        return _KIB * _sum_of(rollup, ("Pss_Anon:", "SwapPss:"))


def _private(status: str) -> int:
    return _KIB * _sum_of(status, ("RssAnon:", "VmSwap:", "VmPTE:"))


def send_buffer() -> int:
    """Return what a new socket may send before it is read; the filter keeps it at that."""
    try:
        with open("/proc/sys/net/core/wmem_default") as file:
            return int(file.read())
    except OSError:  # Not in every container; it is Linux's default.
        return 212_992


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


_NAME = "prefect-swarm-sandbox-"
# PID 1, bubblewrap's own process, and those that start them.
_MORE_PROCESSES = 4
_MORE_BYTES = 48 << 20
_PATIENCE_S = 5.0


class Group:
    """Made below a delegated group, joined by PID 1 before it does anything, removed at the end."""

    def __init__(self, parent: str, memory_bytes: int, processes: int) -> None:
        _remove_orphans(parent)
        self._folder = f"{parent}/{_NAME}{os.getpid()}-{secrets.token_hex(4)}"
        os.mkdir(self._folder)
        try:
            self._write("memory.max", str(memory_bytes + _MORE_BYTES))
            self._write("memory.oom.group", "1")
            self._write("pids.max", str(processes + _MORE_PROCESSES))
            with contextlib.suppress(OSError):  # There is none where nothing is swapped.
                self._write("memory.swap.max", "0")
            # Opened by the user that may; what writes to it may be another by then.
            self._members = os.open(f"{self._folder}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.rmdir(self._folder)
            raise

    def join(self) -> None:
        """Become a member, with all that this process starts from now on."""
        os.write(self._members, b"0")

    def is_out_of_memory(self) -> bool:
        """Whether the kernel has ended something for what it took."""
        return self._figures("memory.events").get("oom_kill", 0) > 0

    def cpu_s(self) -> float:
        """Return the processor seconds of all that ever were in it."""
        return self._figures("cpu.stat").get("usage_usec", 0) / 1e6

    def remove(self) -> None:
        """Remove it; all its processes have ended, or are just about to."""
        os.close(self._members)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)
                return
            time.sleep(0.002)

    def _write(self, name: str, text: str) -> None:
        with open(f"{self._folder}/{name}", "w") as file:
            file.write(text)

    def _figures(self, name: str) -> dict[str, int]:
        with contextlib.suppress(OSError), open(f"{self._folder}/{name}") as file:
            return {key: int(figure) for key, figure in map(str.split, file)}
        return {}


def _remove_orphans(parent: str) -> None:
    """Remove the groups of launchers that were killed."""
    for name in os.listdir(parent):
        if name.startswith(_NAME) and not os.path.exists(f"/proc/{name.split('-')[3]}"):
            with contextlib.suppress(OSError):
                os.rmdir(f"{parent}/{name}")
