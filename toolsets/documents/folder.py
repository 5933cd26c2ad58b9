"""The files of a folder, and nothing but those: no link is followed, at any moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError
from ...inputs.limits import MAX_FILE_BYTES, size
from ...untrusted.opening import open_folder, open_plain, opened_folder
from .names import MAX_DEPTH, is_shown
from .records import FileState

__all__ = ["file_bytes", "file_state", "files_below"]


def files_below(root: Path) -> Iterator[FileState]:
    """Yield the plain files of a folder and of those in it, sorted; links and hidden ones aren't.

    Raises:
        OSError: The folder itself can't be read. What can't be read in it is left out.
    """
    with opened_folder(root) as folder:
        yield from _walk(folder, ())


def file_state(root: Path, parts: Sequence[str]) -> FileState:
    """Return the state of a file below a folder.

    Raises:
        InputError: It is no plain file.
        OSError: It isn't there or can't be read; where a link is on the way, too.
    """
    with _opened(root, parts) as file:
        return _state(os.fstat(file), tuple(parts))


def file_bytes(root: Path, parts: Sequence[str]) -> bytes:
    """Return what a file below a folder holds.

    Raises:
        InputError: It is no plain file, or too large.
        OSError: It isn't there or can't be read; where a link is on the way, too.
    """
    with _opened(root, parts) as file:
        found = os.fstat(file)
        _require_plain(found, parts)
        if found.st_size <= MAX_FILE_BYTES:
            with open(file, "rb", closefd=False) as opened:
                # It may grow while it is read.
                data = opened.read(MAX_FILE_BYTES + 1)
            if len(data) <= MAX_FILE_BYTES:
                return data
    most = size(MAX_FILE_BYTES)
    raise InputError(f"{'/'.join(parts)} has more than {most}, the most that is read.")


def _state(found: os.stat_result, parts: tuple[str, ...]) -> FileState:
    return FileState(parts, found.st_size, found.st_ctime_ns, found.st_ino)


def _require_plain(found: os.stat_result, parts: Sequence[str]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{'/'.join(parts)} is no plain file.", "Use a name that list shows.")


def _walk(folder: int, parts: tuple[str, ...]) -> Iterator[FileState]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(filter(is_shown, (entry.name for entry in entries)))
    except OSError:
        if not parts:
            raise
        return
    for name in names:
        yield from _look(folder, name, (*parts, name))


def _look(folder: int, name: str, parts: tuple[str, ...]) -> Iterator[FileState]:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            yield _state(found, parts)
            return
        if not stat.S_ISDIR(found.st_mode) or len(parts) >= MAX_DEPTH:
            return
        inner = open_folder(folder, name)
    except OSError:
        return  # It went away, became a link, or isn't ours to read.
    try:
        yield from _walk(inner, parts)
    finally:
        os.close(inner)


@contextmanager
def _opened(root: Path, parts: Sequence[str]) -> Generator[int]:
    """Open a file below a folder with no link followed on the way."""
    with opened_folder(root, parts[:-1]) as folder:
        _require_plain(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), parts)
        file = open_plain(folder, parts[-1], os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)
