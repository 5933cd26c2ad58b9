"""Runs in the sandbox, alone: runs jobs in processes of their own and reports on them.

It never runs what a model wrote. It can't be traced, and its input and output aren't handed to
the jobs' processes. A job comes on the standard input when the one before it has ended, with its
files, and begins in an empty room; behind the last of them comes the key that the report is signed
with. So a job's process, which is a copy of this one, finds nothing in it of the jobs to come.
A job's process reports through a socket, each record with a token. What runs in that
same process could find the token by searching the interpreter's objects: nothing but another
process can prevent that, and the values of examples are compared in one.
"""

from __future__ import annotations

import ctypes
import gc
import hmac
import importlib.util
import json
import os
import random
import resource
import secrets
import select
import signal
import site
import socket
import stat
import sys
import time
import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

READY = "ready"
_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_BYTES = 6 << 20
_SET_CHILD_SUBREAPER = 36
_LONGEST_MESSAGE = 1000
_MOST_FRAMES = 20
_SET_DUMPABLE = 4


def main() -> None:
    """Run the jobs that come on the standard input, each a frame, and then the key.

    `argv` has what must be known before that: the folders of packages, the runners to have ready,
    whether there is time for a rehearsal, and the folders that a job can write to.
    """
    setup = json.loads(sys.argv[1])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    _add_site(setup["packages"])
    # All that the jobs need is imported before they can see what a model wrote.
    runners = {name: _load(f"run_{name}") for name in setup["runners"]}
    _set_traceable(False)
    # What a job's process leaves behind falls to this one, which can wait for its end.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    here = os.getcwd()
    room = _Room([here, *setup["folders"]], setup["isolated"])
    folder = os.path.join(here, setup["folder"])
    if setup["ahead"]:
        runners["tests"].rehearse()
    gc.collect()
    gc.freeze()
    _write(READY)
    results: list[dict[str, Any]] = []
    while frame := _receive_frame():
        if results and not results[-1]["done"]:
            continue
        act = json.loads(frame)
        job = act["job"]
        if job.get("emptied") and _holds_failure(results[-1], job["canary"]):
            continue
        room.prepare(folder, act["files"])
        results.append(_supervise(job, runners[job["runner"]], folder))
        room.end_processes()
    body = json.dumps(results)
    key = _receive(32)
    _write(hmac.new(key, body.encode(), "sha256").hexdigest())
    _write(body)
    # The interpreter's own end would take as long as a small job.
    os._exit(0)


def _receive_frame() -> bytes:
    """Return a frame, which has its length before it; b"" is the last."""
    return _receive(int.from_bytes(_receive(8), "big"))


def _receive(size: int) -> bytes:
    """Read exactly so much: what comes behind it must not lie in this process yet."""
    data = bytearray()
    while len(data) < size:
        if not (chunk := os.read(0, size - len(data))):
            os._exit(1)  # The parent is gone.
        data += chunk
    return bytes(data)


def _holds_failure(result: dict[str, Any], canary: str) -> bool:
    """Whether a test failed that isn't one of the canary's, which always fail."""
    failed = (record for record in result["records"] if record.get("outcome") == "failed")
    return any(not str(record.get("test")).startswith(f"{canary}::") for record in failed)


def _add_site(packages: list[str]) -> None:
    """Do what Python does at its start, but run nothing that lies among the packages."""
    sys.path += [path for path in packages if path not in sys.path]
    site.setquit()
    site.sethelper()


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _load(name: str) -> types.ModuleType:
    """Import a file next to this one under no name that anything else could import it by."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _supervise(job: dict[str, Any], runner: types.ModuleType, folder: str) -> dict[str, Any]:
    ours, theirs = socket.socketpair()
    token = secrets.token_hex(16)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _run_job(job, runner, folder, theirs, token)
    theirs.close()
    result = {"runner": job["runner"], **_watch(pid, ours, job["wall_s"])}
    data = result.pop("data")
    ours.close()
    records, honest = _records(data, token)
    finished = bool(records) and records[-1] == {"finished": True} and honest
    result["done"] = finished and result["exit_code"] == 0
    result["records"] = records
    return result


def _watch(pid: int, line: socket.socket, wall_s: float) -> dict[str, Any]:
    """Wait for a job's process, which gets `wall_s` seconds, and collect what it reports."""
    late, data, lines = False, bytearray(), [line]
    deadline = time.monotonic() + wall_s
    ending = os.pidfd_open(pid)
    while True:
        # Once it has been killed it is not long.
        patience = max(0.01, deadline - time.monotonic())
        ready = select.select([*lines, ending], [], [], patience)[0]
        if ending in ready:
            break
        if lines and line in ready and not _take(line, data):
            lines.clear()
        late = late or time.monotonic() > deadline
        if late or len(data) > _MOST_BYTES:
            _kill(pid)
    os.close(ending)
    _, status, usage = os.wait4(pid, 0)
    while lines and select.select(lines, [], [], 0)[0] and len(data) <= _MOST_BYTES:
        if not _take(line, data):
            lines.clear()
    return {
        "data": bytes(data),
        "late": late,
        "exit_code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "cpu_s": usage.ru_utime + usage.ru_stime,
    }


def _take(line: socket.socket, data: bytearray) -> bool:
    try:
        chunk = line.recv(1 << 16)
    except OSError:
        return False
    data += chunk
    return bool(chunk)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except OSError:
            continue


def _records(data: bytes, token: str) -> tuple[list[Any], bool]:
    """Read a job's records, and whether each of them came with the token."""
    records: list[Any] = []
    for line in data.splitlines():
        try:
            sent, record = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            return records, False
        if sent != token:
            return records, False
        records.append(record)
    return records, len(data) <= _MOST_BYTES


def _run_job(
    job: dict[str, Any], runner: types.ModuleType, folder: str, line: socket.socket, token: str
) -> NoReturn:
    """Be a job's process. Its end skips whatever was registered for the interpreter's end."""
    leave, dumps, send = os._exit, json.dumps, line.sendall
    status = 70

    def report(record: object) -> None:
        send(dumps([token, record]).encode() + b"\n")

    try:
        _enter(job, folder)
        perform: Callable[..., bool] = runner.perform
        if perform(job, report, partial(_describe_exception, folder=folder)):
            report({"finished": True})
            status = 0
    finally:
        leave(status)


def _set_traceable(allowed: bool) -> None:
    """Let other processes of this user look into this one, or not."""
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, int(allowed), 0, 0, 0)


def _enter(job: dict[str, Any], folder: str) -> None:
    """Leave everything of the supervisor's behind, and go where the model's files are."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    _set_traceable(True)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    cpu = int(job["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu if hard < 0 else min(cpu, hard), hard))
    os.chdir(folder)
    random.seed(0)
    sys.argv[:] = [""]
    sys.modules["__main__"] = types.ModuleType("__main__")
    # Behind Python's own modules: a file named like one of those can't be taken for it.
    places = enumerate(sys.path)
    at = next((n for n, place in places if place.endswith("-packages")), len(sys.path))
    sys.path[at:at] = [os.path.join(folder, root) if root else folder for root in job["roots"]]


def _describe_exception(error: BaseException, folder: str) -> dict[str, Any]:
    """Return an exception's name, its message, and its traceback's lines below `folder`."""
    frames: list[tuple[str, int]] = []
    trace = error.__traceback__
    while trace is not None:
        place = trace.tb_frame.f_code.co_filename
        if place.startswith(folder + os.sep):
            frames.append((os.path.relpath(place, folder), trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and str(error.filename).startswith(folder + os.sep):
        frames.append((os.path.relpath(str(error.filename), folder), error.lineno or 1))
    try:
        message = str(error).replace(folder + os.sep, "")
    except BaseException:  # noqa: BLE001 - whatever a model's code raises
        message = ""
    name = type(error).__name__
    return {"name": name, "message": message[:_LONGEST_MESSAGE], "frames": frames[-_MOST_FRAMES:]}


class _Room:
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
                _end(-1)
            else:
                for pid in _descendants(os.getpid()):
                    _end(pid)
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


def _end(pid: int) -> None:
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


if __name__ == "__main__":
    main()
