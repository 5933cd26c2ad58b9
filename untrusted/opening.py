"""Opening what lies below a folder: no link is followed, and nothing is waited for, at any moment.

Each part of a path is opened relative to the folder before it, so that nothing that is put in its
place meanwhile leads elsewhere. The folder at the top may be a link: a person said where it is.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import make_folder
from .errors import UnsafeFileError

__all__ = ["open_folder", "open_plain", "opened_folder", "require_plain", "require_size"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A pipe must not be waited for, and a terminal not become the process's own.
_PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OWNER_ONLY_FOLDER = 0o700
_KINDS = {
    stat.S_IFLNK: "a link, and links are not followed here",
    stat.S_IFIFO: "a pipe and no file",
    stat.S_IFSOCK: "a socket and no file",
    stat.S_IFCHR: "a device and no file",
    stat.S_IFBLK: "a device and no file",
    stat.S_IFDIR: "a folder and no file",
}


@contextmanager
def opened_folder(root: Path, parts: Sequence[str] = (), *, make: bool = False) -> Generator[int]:
    """Yield the descriptor of a folder below another.

    Args:
        root: The folder at the top.
        parts: The names of the folders on the way.
        make: Make those that aren't there.

    Raises:
        UnsafeFileError: A link is on the way.
        OSError: One isn't there, or can't be opened.
    """
    if make:
        make_folder(root)
    folder = os.open(root, _FOLDER)
    try:
        for part in parts:
            inner = open_folder(folder, part, make=make)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def open_folder(folder: int, name: str, *, make: bool = False) -> int:
    """Open a folder in another one; `make` makes it if need be.

    Raises:
        UnsafeFileError: It is a link.
        OSError: It isn't there, or can't be opened.
    """
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, _OWNER_ONLY_FOLDER, dir_fd=folder)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        # Systems say different things of a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise UnsafeFileError(errno.ELOOP, _is(name, _KINDS[stat.S_IFLNK]), name) from None
        raise


def open_plain(folder: int, name: str, flags: int, mode: int = 0o600) -> int:
    """Open a plain file in a folder.

    Args:
        folder: The folder's descriptor.
        name: The file's own name.
        flags: As `os.open` has them.
        mode: The rights of a file that is made.

    Raises:
        UnsafeFileError: It is a link, a pipe or anything else but a plain file.
        OSError: It isn't there, or can't be opened.
    """
    # Opening a device may do something already.
    try:
        require_plain(os.stat(name, dir_fd=folder, follow_symlinks=False), name)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    descriptor = os.open(name, flags | _PLAIN, mode, dir_fd=folder)
    try:
        require_plain(os.fstat(descriptor), name)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require_plain(found: os.stat_result, name: str) -> None:
    """Refuse what is no plain file.

    Raises:
        UnsafeFileError: It is something else; says what.
    """
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise UnsafeFileError(errno.ELOOP, _is(name, kind), name)


def require_size(found: os.stat_result, most: int, name: str) -> None:
    """Refuse a file that is too large to be read.

    Raises:
        UnsafeFileError: It has more bytes than `most`.
    """
    if found.st_size > most:
        raise UnsafeFileError(errno.EFBIG, f"{name!a} has more than {most >> 20:,} MiB", name)


def _is(name: str, kind: str) -> str:
    return f"{name!a} is {kind}"
