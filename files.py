"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["OWNER_ONLY", "READABLE", "replace_atomically", "write_atomically"]

OWNER_ONLY = 0o600
READABLE = 0o644


def write_atomically(path: Path, data: bytes | str, *, mode: int = OWNER_ONLY) -> None:
    """Write a file that takes its name only once all of it is on the disk; a text is UTF-8.

    Raises:
        OSError: It can't be written. What was there before stays, and no temporary file.
    """
    content = data.encode() if isinstance(data, str) else data
    with replace_atomically(path, mode=mode) as temporary:
        temporary.write_bytes(content)


@contextmanager
def replace_atomically(path: Path, *, mode: int = OWNER_ONLY) -> Generator[Path]:
    """Yield a temporary file in the same folder, for what is written piece by piece.

    It takes the path's place at the end, and is removed if anything fails before.

    Raises:
        OSError: There is no such folder, or it can't be written.
    """
    # Short, since a file's name has an end: 255 bytes on most systems.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "rb") as file:
            yield temporary
            # Without this a crash of the machine may leave the new name with nothing in it.
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
