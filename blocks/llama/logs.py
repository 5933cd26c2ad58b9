"""Keeping llama.cpp's own output away from the user, and its reasons for our error messages.

The log goes to the logger `prefect_swarm.llama` at level DEBUG.
"""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from typing import TypeVar

from .library import lib

__all__ = ["capture_stderr", "clear_errors", "first_error", "install"]

_T = TypeVar("_T")
_ERROR_LEVEL = 4

_logger = logging.getLogger("prefect_swarm.llama")
_redirecting = threading.Lock()


class _Errors(threading.local):
    """Error lines of this thread's calls; llama.cpp logs on the thread that called it."""

    def __init__(self) -> None:
        self.lines: list[str] = []


_errors = _Errors()


@lib.llama_log_callback
def _on_log(level: int, text: bytes, _: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if line and level == _ERROR_LEVEL:
        _errors.lines = [*_errors.lines, line][:10]
    if line:
        _logger.debug(line)


def install() -> None:
    """Take over llama.cpp's log, for the whole process."""
    lib.llama_log_set(_on_log, ctypes.c_void_p(0))


def clear_errors() -> None:
    """Forget what this thread's calls have logged so far."""
    _errors.lines = []


def first_error() -> str:
    """The first error since `clear_errors`: it has the reason, later errors only its effects."""
    line = _errors.lines[0] if _errors.lines else "it gave no reason"
    return line.rpartition("error loading model: ")[2].rstrip(".")


def capture_stderr(call: Callable[[], _T]) -> tuple[_T, str]:
    """Run a short call whose C code prints to stderr; return what it printed, too.

    The grammar parser is the one place where llama.cpp prints past its log.
    """
    with _redirecting, tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            result = call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return result, file.read().decode("utf-8", "replace")
