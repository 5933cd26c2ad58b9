"""Runs in the sandbox: a job's process, in which the artifact runs."""

from __future__ import annotations

import ctypes
import json
import os
import random
import resource
import socket
import sys
import types
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

_LONGEST_MESSAGE = 1000
_MOST_FRAMES = 20
_SET_DUMPABLE = 4


def run_job(
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


def set_traceable(allowed: bool) -> None:
    """Let other processes of this user look into this one, or not."""
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, int(allowed), 0, 0, 0)


def _enter(job: dict[str, Any], folder: str) -> None:
    """Leave everything of the supervisor's behind, and go where the model's files are."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    set_traceable(True)
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
