"""The launcher: starts PID 1 of a sandbox, watches what the sandbox uses, and ends it.

It runs as a process of its own, outside the sandbox, between the parent and PID 1: the kernel
kills it with the parent, PID 1 with it, and everything else with PID 1.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import select
import signal
import socket
import sys
import time
from typing import cast

from . import kernel
from .init import READY, forget_streams, init
from .watch import Group, Watch, kill_descendants, send_buffer
from .wire import Allowance, Config, Exceeded, LauncherReport, pack, reader_of, unpack_from
from .world import bubblewrap_command, enter_user_namespace, is_roots_own_namespace

__all__ = ["main"]

# Milliseconds between looks at the sums, never the same: nothing can be done just between two.
# In so long a process can touch some 20 MB of new pages.
_TICK_MS = (12, 28)
_CHUNK = 1 << 16
_PR_SET_CHILD_SUBREAPER = 36
_KILLED = int(signal.SIGKILL)


def main() -> None:
    """Be the launcher, or PID 1 below bubblewrap: `argv` is folder, role, descriptor."""
    role, line = sys.argv[2], socket.socket(fileno=int(sys.argv[3]))
    try:
        kernel.die_with_parent()
        header, blobs = _receive(line)
        config = cast("Config", header)
        if role == "init":
            init(config, blobs, line)
        config["nice"] = _raise_priority()
        report, returned = _Sandbox(config, blobs, line).run()
    except BaseException as problem:  # noqa: BLE001 - reported to the parent, which raises it
        report, returned = {"error": f"{type(problem).__name__}: {problem}"}, []
    with contextlib.suppress(OSError):  # The parent is gone.
        line.sendall(pack(report, returned))
    # All is said; the interpreter's own end would take longer than the kernel's.
    os._exit(0)


def _raise_priority() -> int:
    """Run before the program's processes, however many; return their nice value."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, usual - 10)
    except OSError:
        return usual + 5
    return usual


def _receive(line: socket.socket) -> tuple[object, list[bytes]]:
    try:
        return unpack_from(reader_of(line))
    except EOFError:
        os._exit(1)


def _report(
    config: Config, status: int = _KILLED, exceeded: Exceeded | None = None
) -> LauncherReport:
    return LauncherReport(
        kind=config["kind"], status=status, exceeded=exceeded, duration_s=0.0, files=[]
    )


def _failure(config: Config, error: str) -> LauncherReport:
    return {**_report(config), "error": error}


class _Sandbox:
    """One run of one program, from the outside."""

    def __init__(self, config: Config, blobs: list[bytes], parent: socket.socket) -> None:
        self._config = config
        self._blobs = blobs
        self._parent = parent
        self._line: socket.socket
        self._watch: Watch | None = None
        self._group: Group | None = None
        self._child = 0
        # When PID 1 started the program, and when its limits began to count.
        self._started = 0.0
        self._counted = 0.0
        self._cpu_before = 0.0
        self._waits = config["waits"]
        self._killed_for_memory = False
        self._answer = bytearray()

    def run(self) -> tuple[LauncherReport, list[bytes]]:
        self._start()
        try:
            exceeded = self._follow()
        finally:
            self._end()
        return self._report(exceeded)

    def _start(self) -> None:
        strict = self._config["kind"] != "limits-only"
        outer = os.geteuid() if self._config["own_user"] else self._config["outer_id"]
        if strict and outer == 0 and is_roots_own_namespace():
            # The kernel bounds the number of everyone's processes but root's.
            raise PermissionError("a program can't be held as root; CAP_SETUID is missing")
        # What PID 1 leaves when bubblewrap is killed between the two becomes ours to wait for.
        kernel.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        if self._config["group"]:
            self._group = _group_of(self._config)
        self._line, theirs = socket.socketpair()
        if self._config["kind"] == "bubblewrap":
            self._child = self._start_bubblewrap(theirs)
        else:
            if self._config["kind"] == "namespaces":
                self._leave_pid_namespace()
            self._child = os.fork()
            if self._child == 0:
                self._join_group()
                self._line.close()
                self._parent.close()
                init(self._config, self._blobs, theirs)
        theirs.close()
        if self._config["kind"] == "bubblewrap":
            self._line.sendall(pack(self._config, self._blobs))
        forget_streams()

    def _leave_pid_namespace(self) -> None:
        """Have the next child be PID 1 of a new namespace."""
        if self._config["own_user"]:
            enter_user_namespace()
        kernel.unshare(kernel.NEW_PID)
        kernel.set_dumpable(False)
        kernel.die_with_parent()

    def _start_bubblewrap(self, theirs: socket.socket) -> int:
        command = bubblewrap_command(self._config, os.path.dirname(__file__), theirs.fileno())
        child = os.fork()
        if child == 0:
            try:
                self._join_group()
                theirs.set_inheritable(True)
                os.execv(command[0], command)  # noqa: S606
            finally:
                os._exit(1)
        return child

    def _follow(self) -> Exceeded | None:
        """Wait for the end and watch the sums; returns the limit that was the end, if one was."""
        poll = select.poll()
        for line in (self._parent, self._line):
            poll.register(line, select.POLLIN)
        while True:
            patience = random.randint(*_TICK_MS) if self._counts() else None  # noqa: S311
            events = {descriptor for descriptor, _ in poll.poll(patience)}
            # The parent has nothing to say but that the wait is over, that it is gone, or that
            # this is to end.
            if self._parent.fileno() in events and not self._allowed():
                return None
            if self._line.fileno() in events and not self._handle():
                return None
            if self._counts() and (exceeded := self._exceeded()):
                return exceeded

    def _allowed(self) -> bool:
        """Take what the parent says the program may use from now on; False if it says no more."""
        if not self._waits:
            return False
        try:
            header, _ = unpack_from(reader_of(self._parent))
        except EOFError:
            return False
        allowance = cast("Allowance", header)
        self._config["cpu_s"], self._config["wall_s"] = allowance["cpu_s"], allowance["wall_s"]
        self._waits = False
        return True

    def _counts(self) -> bool:
        """Whether the program's limits count; sets the moment from which they do."""
        # Once PID 1 tells of the end the program is gone.
        if not self._started or self._waits or self._answer:
            return False
        if not self._counted:
            self._counted = time.monotonic()
            self._cpu_before = self._cpu_s()
        return True

    def _handle(self) -> bool:
        """Take what PID 1 says; False once it has no more to say."""
        if self._started:
            data = self._line.recv(_CHUNK)
        else:
            data, handles, _, _ = socket.recv_fds(self._line, 1, 8)
            if data == READY:
                self._started = time.monotonic()
                if handles:
                    self._watch = Watch(handles[:-1], handles[-1], send_buffer())
                return True
        self._answer += data
        return bool(data)

    def _exceeded(self) -> Exceeded | None:
        config = self._config
        if time.monotonic() - self._counted > config["wall_s"]:
            return "wall"
        if self._is_out_of_memory():
            return "memory"
        return "cpu" if self._cpu_s() - self._cpu_before > config["cpu_s"] else None

    def _is_out_of_memory(self) -> bool:
        """Whether all together have too much; a group's kernel has ended them by then."""
        if self._group is not None and self._group.is_out_of_memory():
            return True
        most = self._config["memory_bytes"]
        return self._watch is not None and self._watch.memory(most) > most

    def _cpu_s(self) -> float:
        if self._group is not None:
            return self._group.cpu_s()
        return self._watch.cpu_s() if self._watch else 0.0

    def _join_group(self) -> None:
        if self._group is not None:
            self._group.join()

    def _end(self) -> None:
        """Kill what is left and wait until it is gone: PID 1 ends after all of its namespace."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        # Elsewhere the child is PID 1 itself.
        if self._config["kind"] != "namespaces":
            kill_descendants()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        self._killed_for_memory = self._group is not None and self._group.is_out_of_memory()
        if self._group is not None:
            self._group.remove()

    def _report(self, exceeded: Exceeded | None) -> tuple[LauncherReport, list[bytes]]:
        try:
            header, blobs = unpack_from(io.BytesIO(self._answer).read)
        except EOFError:
            return self._cut_off(exceeded), []
        answer = cast("dict[str, object]", header)
        if "error" in answer:
            return _failure(self._config, str(answer["error"])), []
        status, cpu_s = cast("int", answer["status"]), cast("float", answer["cpu_s"])
        if exceeded is None and self._killed_for_memory:
            exceeded = "memory"
        if exceeded is None and _out_of_time(status, cpu_s, self._config["cpu_s"]):
            exceeded = "cpu"
        report = _report(self._config, status, exceeded)
        report["duration_s"] = cast("float", answer["duration_s"])
        if self._counted:
            report["duration_s"] = min(report["duration_s"], time.monotonic() - self._counted)
        report["files"] = cast("list[str]", answer["files"])
        return report, blobs

    def _cut_off(self, exceeded: Exceeded | None) -> LauncherReport:
        if not self._started:
            return _failure(self._config, "PID 1 of the sandbox ended before the program began")
        if exceeded is None and self._killed_for_memory:
            exceeded = "memory"
        report = _report(self._config, _KILLED, exceeded)
        report["duration_s"] = time.monotonic() - self._started
        return report


def _group_of(config: Config) -> Group | None:
    """Return a new group; without one the sums of what the processes use are enough."""
    with contextlib.suppress(OSError):
        return Group(config["group"], config["memory_bytes"], config["processes"])
    return None


def _out_of_time(status: int, cpu_s: float, limit: float) -> bool:
    """Whether it was the kernel's limit on one process's time that ended the program."""
    if not os.WIFSIGNALED(status):
        return False
    ending = os.WTERMSIG(status)
    return ending == signal.SIGXCPU or (ending == signal.SIGKILL and cpu_s >= limit)
