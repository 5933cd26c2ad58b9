"""A command's output in a real pseudo-terminal, with its times."""

from __future__ import annotations

import codecs
import os
import pty
import shlex
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping

from pictures.asciicast import Cast, Output

__all__ = ["record"]

_PROMPT = "\x1b[1;32m$\x1b[0m "
_TYPED_AT_ONCE = 18
_TYPING_S = 0.07
_PAUSE_S = 0.5


def record(command: str, environment: Mapping[str, str], *, columns: int, rows: int) -> Cast:
    """Type a command at a prompt, run it, and record what the terminal shows until it ends.

    Args:
        command: As a shell reads it; it is typed as it is, and run without a shell.
        environment: What it runs in.
        columns: The width of the terminal in characters.
        rows: The height of the terminal in lines.

    Raises:
        RuntimeError: The command failed.
    """
    typed = [*_typed(command)]
    shown = [*_shown(shlex.split(command), environment, columns, rows)]
    begins_s = typed[-1].at_s
    outputs = [*typed, *(Output(begins_s + each.at_s, each.text) for each in shown)]
    return Cast(columns, rows, [*outputs, Output(outputs[-1].at_s, _PROMPT)])


def _typed(command: str) -> Iterator[Output]:
    yield Output(0.0, _PROMPT)
    at_s = _PAUSE_S
    for start in range(0, len(command), _TYPED_AT_ONCE):
        yield Output(at_s, command[start : start + _TYPED_AT_ONCE])
        at_s += _TYPING_S
    yield Output(at_s + _PAUSE_S, "\r\n")


def _shown(
    words: list[str], environment: Mapping[str, str], columns: int, rows: int
) -> Iterator[Output]:
    ours, its = pty.openpty()
    try:
        termios.tcsetwinsize(its, (rows, columns))
        began = time.monotonic()
        running = subprocess.Popen(
            words, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True
        )
        os.close(its)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while read := _read(ours):
            yield Output(time.monotonic() - began, decoder.decode(read))
        if status := running.wait():
            raise RuntimeError(f"{words[0]} ended with {status}")
    finally:
        os.close(ours)


def _read(terminal: int) -> bytes:
    """Read what is shown next; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
