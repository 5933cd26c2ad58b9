"""Removing what runs have left outside the memory."""

from __future__ import annotations

import errno
import fcntl
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...errors import MemoryStoreError
from ...untrusted.errors import UnsafeFileError
from ...untrusted.folder import UntrustedFolder
from .finding import Traces, run_of_result

__all__ = ["RemovedTraces", "remove_traces"]


@dataclass(frozen=True, slots=True)
class RemovedTraces:
    """What was removed outside the memory.

    Attributes:
        runs: How many run folders.
        results: How many files of Prefect's local result storage.
        gates: How many cached gate results.
        prefixes: How many stored beginnings of prompts.
        executed: Runs that a process executes, and that therefore stay.
    """

    runs: int = 0
    results: int = 0
    gates: int = 0
    prefixes: int = 0
    executed: tuple[str, ...] = ()


def remove_traces(traces: Traces) -> RemovedTraces:
    """Remove them for good; a call that was killed can be made again.

    Raises:
        MemoryStoreError: One can't be removed; says which.
    """
    try:
        executed = [run.name for run in traces.runs if not _remove_run(run)]
        results = [path for path in traces.results if run_of_result(path) not in executed]
        for path in (*results, *traces.gates, *traces.prefixes):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise MemoryStoreError(
            f"{error.filename} can't be removed: {error.strerror}.",
            "Check its permissions, then make the same call again.",
        ) from error
    runs = len(traces.runs) - len(executed)
    return RemovedTraces(
        runs, len(results), len(traces.gates), len(traces.prefixes), tuple(executed)
    )


def _remove_run(run: Path) -> bool:
    """Remove a run's folder, unless a process executes the run."""
    if run.is_symlink():
        raise OSError(errno.ELOOP, "it is a link; remove what it leads to, and then itself", run)
    with suppress(FileNotFoundError, UnsafeFileError), UntrustedFolder(run).opened("lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        shutil.rmtree(run)
        return True
    if run.exists():
        shutil.rmtree(run)
    return True
