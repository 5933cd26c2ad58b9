"""A script of our own in a process that may take so long and so much: what it reads is others'."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

__all__ = [
    "BOUNDED_OFFICE",
    "BOUNDED_PICTURES",
    "BOUNDED_WORK",
    "BoundError",
    "ProcessBounds",
    "answer_within",
]

BOUNDED_WORK = Path(__file__).with_name("bounded_work.py")
"""Our script for a PDF's text, and for patterns without a match."""
BOUNDED_PICTURES = Path(__file__).with_name("bounded_pictures.py")
"""Our script for pictures, and for a PDF's pages with pictures of those without text."""
BOUNDED_OFFICE = Path(__file__).with_name("bounded_office.py")
"""Our script for what office programs write."""
_WAITING = 5
"""Times its computing that it may take by the clock: a machine may have much else to do."""
_NO_MEMORY = 3
"""What a script of ours exits with that finds no memory."""
# An interpreter that reads no variables and no `.pth` files; it imports from where we do. The size
# of what it writes is the kernel's to bound, on systems that have such bounds.
_BOOT = """\
import resource, runpy, sys
script, word, cpu, memory, answer, *sys.path[:] = sys.argv[1:]
for name, most in (("CPU", cpu), ("AS", memory), ("FSIZE", answer), ("CORE", "0")):
    try:
        # At the soft limit of the time a signal says which it was, at the hard one it ends.
        limits = (int(most), int(most) + (name == "CPU"))
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), limits)
    except (OSError, ValueError):
        pass
sys.argv[:] = [script, word]
runpy.run_path(script, run_name="__main__")
"""


@dataclass(frozen=True, slots=True)
class ProcessBounds:
    """What the process may take; the seconds count its computing."""

    seconds: float
    memory_bytes: int = 1 << 30
    answer_bytes: int = 1 << 20


class BoundError(Exception):
    """The process came to no answer: `over` is what it took too much of, "" if it failed."""

    def __init__(self, over: Literal["time", "memory", "answer", ""], problem: str) -> None:
        super().__init__(problem)
        self.over = over


def answer_within(script: Path, data: bytes, bounds: ProcessBounds, word: str = "") -> bytes:
    """Return what a script writes to its standard output, of what it reads from its input.

    Files carry both, so that nothing waits for the other side.

    Args:
        script: It gets the standard library and what this process imports from; no variables.
        data: Its input.
        bounds: What it may take.
        word: Its argument.

    Raises:
        BoundError: It took too much, failed, or can't be started.
    """
    try:
        with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as answer:
            input_file.write(data)
            input_file.seek(0)
            code = _ended((str(script), word), input_file, answer, bounds)
            answer.seek(0)
            written = answer.read(bounds.answer_bytes + 1)
    except OSError as error:
        raise BoundError("", f"a process for it is not available: {error.strerror}") from None
    if len(written) >= bounds.answer_bytes:
        raise BoundError("answer", f"it gives more than {bounds.answer_bytes >> 20} MiB")
    if code == 0:
        return written
    if code == _NO_MEMORY:
        raise BoundError("memory", f"it takes more than {bounds.memory_bytes >> 20} MiB of memory")
    if code == -signal.SIGXCPU:
        raise BoundError("time", f"it takes more than {bounds.seconds:g} s")
    raise BoundError("", f"the process that reads it ended with {code}")


def _ended(
    command: tuple[str, str], input_file: IO[bytes], answer: IO[bytes], bounds: ProcessBounds
) -> int:
    most = (max(1, round(bounds.seconds)), bounds.memory_bytes, bounds.answer_bytes)
    options = ("-I", "-S", "-B", "-c", _BOOT)
    argv = [sys.executable, *options, *command, *map(str, most), *sys.path]
    process = subprocess.Popen(  # noqa: S603 - a script of ours
        argv,
        stdin=input_file,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env={"LANG": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        return process.wait(bounds.seconds * _WAITING + _WAITING)
    except subprocess.TimeoutExpired:
        raise BoundError("time", f"it takes more than {bounds.seconds:g} s") from None
    finally:
        process.kill()
        process.wait()
