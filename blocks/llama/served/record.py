"""The records of the servers of this machine: a small file each, in the data folder."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from ....files import OWNER_ONLY, make_folder, process_lives, write_atomically
from ....frozen import Frozen
from ....untrusted.folder import read_file
from ..api import EngineConfig

__all__ = ["ServedRecord", "find_record", "new_record", "published"]


class ServedRecord(Frozen):
    """A process that serves a model file.

    Attributes:
        machine: Where it runs; a data folder may be shared by several machines.
        pid: Its process.
        address: Its URL, without a path.
        token: What proves both sides to each other; who can read the record knows it.
        path: The model file.
        size: Bytes of it.
        mtime_ns: When it was changed last, in nanoseconds.
        n_ctx: Tokens of context of one request.
    """

    machine: str
    pid: int
    address: str
    token: str
    path: str
    size: int
    mtime_ns: int
    n_ctx: int

    def serves(self, path: Path, config: EngineConfig) -> bool:
        """Whether it answers as an engine of the file in this process would.

        Args:
            path: The model file, resolved.
            config: How this process would serve it.
        """
        stat = path.stat()
        same = (self.path, self.size, self.mtime_ns) == (str(path), stat.st_size, stat.st_mtime_ns)
        return same and self.n_ctx >= config.n_ctx


def new_record(path: Path, address: str, config: EngineConfig) -> ServedRecord:
    """The record of this process, with a new token."""
    stat = path.stat()
    return ServedRecord(
        machine=_machine(),
        pid=os.getpid(),
        address=address,
        token=secrets.token_urlsafe(32),
        path=str(path),
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        n_ctx=config.n_ctx,
    )


@contextmanager
def published(folder: Path, record: ServedRecord) -> Generator[None]:
    """Let other processes find a server while the code inside runs.

    Args:
        folder: The folder of records; it is made if need be.
        record: The server's.

    Raises:
        OSError: The record can't be written.
    """
    make_folder(folder)
    file = folder / f"{record.pid}.json"
    write_atomically(file, record.model_dump_json(), mode=OWNER_ONLY)
    try:
        yield
    finally:
        # Its process may have ended, and another server of that number may have come, since.
        if _read(file) == record:
            file.unlink(missing_ok=True)


def find_record(folder: Path, path: Path, config: EngineConfig) -> ServedRecord | None:
    """The record of a living server of a file; records of dead processes are removed.

    Args:
        folder: The folder of records; it may be missing.
        path: The model file, resolved.
        config: How this process would serve it.
    """
    for file in sorted(folder.glob("*.json")):
        record = _read(file)
        if record is None or record.machine != _machine() or record.pid == os.getpid():
            continue
        if not process_lives(record.pid):
            file.unlink(missing_ok=True)
        elif record.serves(path, config):
            return record
    return None


def _read(file: Path) -> ServedRecord | None:
    """A record of this user; None for another's, who could have this process send it texts."""
    try:
        if hasattr(os, "getuid") and file.stat().st_uid != os.getuid():
            return None
        return ServedRecord.model_validate_json(read_file(file))
    except (OSError, ValidationError):
        return None


def _machine() -> str:
    """A name that two machines, or two containers, do not share."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    name = boot.read_text("ascii").strip() if boot.exists() else ""
    return f"{socket.gethostname()} {name}".strip()
