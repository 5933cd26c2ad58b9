"""An interpreter that has imported what scripts need, and runs each request in a fork of itself.

`ready_interpreter.py SOCKET MODULE…`: SOCKET is the number of an inherited socket. A request is a
JSON object and three files: what becomes the script's stdout and stderr, and where its process
number and later its exit status are written, a line each. It ends when the socket is closed.

A fork shares no thread, event loop or connection with others: importing starts none. It ends as any
interpreter does, so what a module does at its import and at the end is done in it too.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

__all__ = ["LARGEST_REQUEST"]

LARGEST_REQUEST = 200_000
"""Bytes; a request holds the environment."""


def _next_script(requests: socket.socket) -> str | None:
    """Serve requests; return in each fork the script that it is to run, and None at the end."""
    while True:
        message, files, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 3)
        if not message:
            return None
        # A fork of its own waits for the script: whoever waits cannot listen.
        if waiting := os.fork():
            for file in files:
                os.close(file)
            _reap(waiting)
            continue
        requests.close()
        if script := os.fork():
            _report(script, files)
        return _take_over(json.loads(message), files)


def _reap(waiting: int) -> None:
    """Collect what has ended, without waiting for the last that began."""
    del waiting
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not ended:
            return


def _report(script: int, files: list[int]) -> None:
    output, errors, report = files
    os.close(output)
    os.close(errors)
    # What a terminal sends to all is for the script, not for who waits for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(report, f"{script}\n".encode())
    _, status = os.waitpid(script, 0)
    os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _take_over(request: dict[str, Any], files: list[int]) -> str:
    output, errors, report = files
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for file in (output, errors, report):
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
        importlib.import_module(name)
    # Nothing of that is ever collected, so forks needn't write to it.
    gc.freeze()
    return _next_script(socket.socket(fileno=number))


if __name__ == "__main__" and (found := _main(int(sys.argv[1]), *sys.argv[2:])):
    runpy.run_path(found, run_name="__main__")
