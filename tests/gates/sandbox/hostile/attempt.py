"""Shared parts of the hostile programs; the file is next to them in the work folder."""

from __future__ import annotations

import ctypes
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

# Things of the machine that a test put in reach of a program without a sandbox.
outside: dict[str, str] = json.loads(Path("outside.json").read_text("utf-8"))


def call(name: str, *arguments: object) -> int:
    """Call a function of the C library; raises OSError where it says -1."""
    result = getattr(_libc, name)(*arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def refused(*attempts: Callable[[], object]) -> None:
    """Say "held" if every attempt ends in an OSError, else what went through."""
    _try_all(attempts, set(errno.errorcode))


def denied(*attempts: Callable[[], object]) -> None:
    """Say "held" if every attempt is forbidden, whatever its arguments are worth."""
    _try_all(attempts, {errno.EPERM, errno.ENOSYS, errno.ENODEV})


def _try_all(attempts: tuple[Callable[[], object], ...], good: set[int]) -> None:
    through = 0
    for number, attempt in enumerate(attempts):
        try:
            result: object = attempt()
        except OSError as problem:
            # A name that can't be resolved has codes of its own, below zero.
            if problem.errno is None or problem.errno < 0 or problem.errno in good:
                continue
            result = problem
        through += 1
        print("went through:", number, result)
    if not through:
        print("held")
