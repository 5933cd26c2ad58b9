"""Standard output and error that a command outlives: whoever reads them may leave, as `head` does.

A run costs money and goes on when nobody reads its progress any more; so what can't be written is
dropped, and the exit code stays the one that the work has earned.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["keep_streams", "unwritten"]

_broken: list[OSError] = []


class _Outlived(io.FileIO):
    """Writes to a file descriptor until that fails; from then on to nothing."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            pass
        except BlockingIOError:
            raise
        except OSError as error:
            _broken.append(error)
        # Processes that are started later write to the same place.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, self.fileno())
        os.close(nothing)
        return memoryview(data).nbytes


def keep_streams() -> None:
    """Put streams that outlive their readers in the place of standard output and error."""
    _open_missing()
    sys.stdout = _outlived(sys.stdout)
    sys.stderr = _outlived(sys.stderr)


def unwritten() -> OSError | None:
    """Return why not all of the output could be written, unless its reader left; None if it was."""
    return _broken[0] if _broken else None


def _open_missing() -> None:
    """Open what was closed before the command began: the next file would get its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _outlived(stream: TextIO) -> TextIO:
    try:
        raw = _Outlived(stream.fileno(), "w", closefd=False)
    except (OSError, ValueError):
        return stream  # It is not a file's: a test has put it there.
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty() or stream is sys.stderr,
    )
