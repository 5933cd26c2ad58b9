"""An interpreter that has imported what scripts need, and runs each request in a fork of itself.

`ready_interpreter.py SOCKET MODULE…`: SOCKET is the number of an inherited socket; of `-MODULE` an
import fails. A request is a JSON object and four files: what becomes the script's stdin, stdout and
stderr, and where its process number and later its exit status are written, a line each. It ends
when the socket is closed.

A fork shares no thread, event loop or connection with others: importing starts none. It ends as any
interpreter does, so what a module does at its import and at the end is done in it too.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import socket
import sys
from typing import Any, cast

__all__ = ["LARGEST_REQUEST"]

LARGEST_REQUEST = 200_000
"""Bytes; a request holds the environment."""


def _next_script(requests: socket.socket) -> str | None:
    """Serve requests; return in each fork the script that it is to run, and None at the end."""
    while True:
        message, files, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
        if not message:
            return None
        # A fork of its own waits for the script: whoever waits cannot listen.
        if os.fork():
            for file in files:
                os.close(file)
            _reap()
            continue
        requests.close()
        if script := os.fork():
            _report(script, files)
        return _take_over(json.loads(message), files)


def _reap() -> None:
    """Collect the forks that have ended; the last is there still."""
    while os.waitpid(-1, os.WNOHANG)[0]:
        pass


def _report(script: int, files: list[int]) -> None:
    *streams, report = files
    for stream in streams:
        os.close(stream)
    os.write(report, f"{script}\n".encode())
    _, status = os.waitpid(script, 0)
    os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _take_over(request: dict[str, Any], files: list[int]) -> str:
    if request["session"]:
        os.setsid()
    for number, stream in enumerate(files[:3]):
        os.dup2(stream, number)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    script, *arguments = request["command"]
    sys.argv = [script, *arguments]
    # As for any script, its folder comes first; here that was this file's.
    sys.path[0] = os.path.dirname(script)
    return script


def _main(number: int, *names: str) -> str | None:
    for name in names:
        if name.startswith("-"):
            sys.modules[name[1:]] = cast("Any", None)
        else:
            importlib.import_module(name)
    # Nothing of that is ever collected, so forks needn't write to it.
    gc.freeze()
    return _next_script(socket.socket(fileno=number))


if __name__ == "__main__" and (found := _main(int(sys.argv[1]), *sys.argv[2:])):
    runpy.run_path(found, run_name="__main__")
