"""The lock of a run's folder: the process that holds it executes the run, and none besides."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from ..errors import RunAliveError
from ..files import make_folder, process_lives
from ..untrusted.folder import FolderReader
from ..untrusted.opening import UnsafeFileError
from .layout import LOCK

__all__ = ["erase_unlocked", "hold_lock", "is_locked"]

_PID_CHARS = 20
_PID_BYTES = 32
_held: ContextVar[frozenset[str]] = ContextVar("swarm_held_runs", default=frozenset())
"""Runs whose lock the code around holds; `hold_lock` alone adds one and removes it.

A resume holds the lock around the flow, which asks again: the system would refuse a second hold.
"""


@contextmanager
def hold_lock(run: FolderReader) -> Generator[None]:
    """Hold the run's lock file; what holds it already may ask again.

    The system lets go of the lock when the process dies, however it dies. It counts among the
    processes that share a file system with working locks, not among machines that don't.

    Raises:
        RunDamagedError: The run's folder has links in it, or anything else but files and folders.
        RunAliveError: Another process, or another task of this one, is executing the run.
    """
    held, name = _held.get(), run.folder.name
    if name in held:
        yield
        return
    make_folder(run.folder)
    run.names_below()  # Refuses what it may not have in it.
    with run.readable(LOCK):
        descriptor = run.files.open_to_append(LOCK)
    with os.fdopen(descriptor, "a+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _alive(name, file.read(_PID_CHARS)) from None
        with suppress(OSError):  # It says who has the lock; a full disk doesn't undo the lock.
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
        token = _held.set(held | {name})
        try:
            yield
        finally:
            _held.reset(token)


def _alive(name: str, pid: str) -> RunAliveError:
    holder = f"process {pid}" if pid else "another process"
    return RunAliveError(
        f"Run {name} is being executed by {holder}.",
        "Wait until it ends, or end that process; then resume the run.",
    )


def is_locked(run: FolderReader) -> bool:
    """Whether a process of this machine executes the run, by the lock that dies with it."""
    try:
        number = int(run.files.read(LOCK, _PID_BYTES).decode("ascii"))
    except (OSError, ValueError):
        return False
    if not process_lives(number):
        return False
    # The number may be another process's by now. Only such runs are tried, since for the moment
    # that the lock is held here nothing could begin them.
    with suppress(OSError), run.files.opened(LOCK) as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    return True


def erase_unlocked(run: FolderReader) -> bool:
    """Remove a run's folder, unless a process executes the run.

    Raises:
        OSError: It is a link, or can't be removed.
    """
    folder = run.folder
    if folder.is_symlink():
        raise OSError(
            errno.ELOOP, "it is a link; remove what it leads to, and then itself", str(folder)
        )
    with suppress(FileNotFoundError, UnsafeFileError), run.files.opened(LOCK) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(folder)
        return True
    if folder.exists():
        shutil.rmtree(folder)
    return True
