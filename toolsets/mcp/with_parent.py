"""Becomes another program that ends with the process which started it.

Run by its path: `python -I -S with_parent.py PARENT COMMAND ARG…`, PARENT being a process id.
A server that waits for its standard input ends by itself when that is closed; this is for those
that are in the midst of something, after their parent was killed. The kernel keeps the wish for a
signal when another program takes the process over.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127


def become(parent: int, command: list[str]) -> None:
    """Become the command, or exit where it can't be run or the parent has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(_NOT_FOUND)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
