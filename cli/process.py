"""The process of a command: its environment, and standard streams that it outlives."""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["can_write", "escaped_for", "keep_streams", "quieten", "spinner_name", "unwritten"]


_CONSOLE = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"


def quieten(*, debug: bool) -> None:
    """Keep other packages' messages out of the terminal, unless the user asked for them.

    The console is muted, not the log: what runs log still goes to the Prefect server.
    """
    # Nothing leaves the machine unasked, and without a network it would only log errors.
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    if debug:
        return
    if "PREFECT_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault(_CONSOLE, "CRITICAL")
    if not os.environ.get("PYTHONWARNINGS"):
        warnings.filterwarnings("ignore", module=r"(?!prefect_swarm)")


_broken: list[OSError] = []
_escaped: list[str] = []
_HANDLER = "prefect-swarm-escape"


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
    codecs.register_error(_HANDLER, _escape)
    _open_missing()
    sys.stdout = _outlived(sys.stdout)
    sys.stderr = _outlived(sys.stderr)


def unwritten() -> OSError | None:
    """Return why not all of the output could be written, unless its reader left; None if it was."""
    return _broken[0] if _broken else None


def escaped_for() -> str:
    """Return the encoding for which characters of the output were escaped; "" if none were."""
    return sys.stdout.encoding if _escaped else ""


def can_write(text: str, stream: TextIO) -> bool:
    """Say whether a stream's encoding has all characters of a text."""
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def spinner_name() -> str:
    """Return the spinner of rich's that standard error can show."""
    return "dots" if can_write("⠋", sys.stderr) else "line"


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Write what can't be encoded as `\\uXXXX`, in pairs where it takes more, as JSON does."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    _escaped.append(error.encoding)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    text = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return text, error.end


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
        errors=_HANDLER,
        line_buffering=stream.isatty() or stream is sys.stderr,
    )
