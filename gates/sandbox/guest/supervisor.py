"""Runs in the sandbox, alone: runs jobs in processes of their own and reports on them.

It never runs what a model wrote. It can't be traced, and its input and output aren't handed to
the jobs' processes; the report is signed with a key that comes only when those have ended.
A job's process reports through a socket, each record with a token. What runs in that
same process could find the token by searching the interpreter's objects: nothing but another
process can prevent that, and the values of examples are compared in one.
"""

from __future__ import annotations

import ctypes
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
import sys
import time
import types
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

READY = "ready"
_HERE = os.path.dirname(os.path.abspath(__file__))
_MOST_BYTES = 6 << 20
_LONGEST_MESSAGE = 1000
_MOST_FRAMES = 20
_SET_DUMPABLE = 4


def main() -> None:
    """Run the jobs of `jobs.json` beside this file; the key is on the standard input."""
    with open(os.path.join(_HERE, "jobs.json"), encoding="utf-8") as file:
        request = json.load(file)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    _add_site(request["packages"])
    # All that the jobs need is imported before they can see what a model wrote.
    runners = {name: _load(f"run_{name}") for name in request["runners"]}
    _set_traceable(False)
    _write(READY)
    folder = os.path.abspath(request["folder"])
    results: list[dict[str, Any]] = []
    for job in request["jobs"]:
        if job.get("emptied") and _holds_failure(results[-1], job["canary"]):
            break
        results.append(_supervise(job, runners[job["runner"]], folder))
        if not results[-1]["done"]:
            break
    body = json.dumps(results)
    key = sys.stdin.buffer.read()
    _write(hmac.new(key, body.encode(), "sha256").hexdigest())
    _write(body)


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
    """Import a file beside this one under no name that anything else could import it by."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(_HERE, f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _set_traceable(allowed: bool) -> None:
    """Let other processes of this user look into this one, or not."""
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, int(allowed), 0, 0, 0)


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
    late, data, is_open = False, bytearray(), True
    deadline = time.monotonic() + wall_s
    while True:
        if is_open and select.select([line], [], [], 0.01)[0]:
            is_open = _take(line, data)
        elif not is_open:
            time.sleep(0.01)
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        late = late or time.monotonic() > deadline
        if late or len(data) > _MOST_BYTES:
            _kill(pid)
    while is_open and select.select([line], [], [], 0)[0] and len(data) <= _MOST_BYTES:
        is_open = _take(line, data)
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


if __name__ == "__main__":
    main()
