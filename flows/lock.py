"""Keep a run from being executed by two processes at once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from ..errors import RunAliveError
from ..files import make_folder
from ..runs import LOCK, RunFolder

__all__ = ["exclusive"]

_PID_CHARS = 20
_held: ContextVar[frozenset[str]] = ContextVar("swarm_held_runs", default=frozenset())


@contextmanager
def exclusive(run: RunFolder) -> Generator[None]:
    """Hold the run's lock file; what holds it already may ask again.

    The system lets go of the lock when the process dies, however it dies. It counts among the
    processes that share a file system with working locks, not among machines that don't.

    Raises:
        RunDamagedError: The run's folder has links in it, or anything else but files and folders.
        RunAliveError: Another process, or another task of this one, is executing the run.
    """
    held = _held.get()
    if run.run_id in held:
        yield
        return
    make_folder(run.folder)
    run.check()
    with run.readable(LOCK):
        descriptor = run.files.open_to_append(LOCK)
    with os.fdopen(descriptor, "a+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _alive(run, file.read(_PID_CHARS)) from None
        with suppress(OSError):  # It says who has the lock; a full disk doesn't undo the lock.
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        token = _held.set(held | {run.run_id})
        try:
            yield
        finally:
            _held.reset(token)


def _alive(run: RunFolder, pid: str) -> RunAliveError:
    holder = f"process {pid}" if pid else "another process"
    return RunAliveError(
        f"Run {run.run_id} is being executed by {holder}.",
        "Wait until it ends, or end that process; then resume the run.",
    )
