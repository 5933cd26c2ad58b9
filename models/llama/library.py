"""The llama.cpp library, and its own output kept away from the user."""

from __future__ import annotations

import ctypes
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from ...host.system import sleeping_threads
from .residency import MemoryUse, is_buffer_line, reserved

__all__ = ["capture_stderr", "clear_errors", "first_error", "install", "lib", "reserving"]


with sleeping_threads():
    import llama_cpp.llama_cpp as lib


_T = TypeVar("_T")
_ERROR_LEVEL = 4

_logger = logging.getLogger("prefect_swarm.llama")
_redirecting = threading.Lock()


class _Errors(threading.local):
    """Error lines of this thread's calls; llama.cpp logs on the thread that called it."""

    def __init__(self) -> None:
        self.lines: list[str] = []


class _Buffers(threading.local):
    """Lines on memory that this thread's calls reserved; None while nobody asks."""

    def __init__(self) -> None:
        self.lines: list[str] | None = None


_errors = _Errors()
_buffers = _Buffers()


@lib.llama_log_callback
def _on_log(level: int, text: bytes, _: object) -> None:
    line = text.decode("utf-8", "replace").strip()
    if line and level == _ERROR_LEVEL:
        _errors.lines = [*_errors.lines, line][:10]
    if _buffers.lines is not None and is_buffer_line(line):
        _buffers.lines.append(line)
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


@contextmanager
def reserving() -> Generator[Callable[[], MemoryUse]]:
    """Give a function that says what this thread's calls have reserved inside so far."""
    outer, lines = _buffers.lines, list[str]()
    _buffers.lines = lines
    try:
        yield lambda: reserved(lines)
    finally:
        _buffers.lines = outer


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
