"""Opening files below a folder: no name leads out, no link is followed, no pipe is waited for."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from ..files import make_folder

__all__ = [
    "PlainName",
    "UnsafeFileError",
    "is_plain_name",
    "open_folder",
    "open_plain",
    "opened_folder",
    "parts_of",
    "require_plain",
    "require_size",
]


class UnsafeFileError(OSError):
    """A file that is not opened: a link, a pipe, too large, or a name that leads elsewhere.

    `strerror` says what it is, as the system's own errors do.
    """


_MOST_BYTES = 255
_MOST_PARTS = 40
_SHOWN = 80


def is_plain_name(name: str) -> bool:
    """Say whether a text can be a file's name in its folder: no path, and no name of a folder."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    try:
        return len(os.fsencode(name)) <= _MOST_BYTES
    except UnicodeEncodeError:  # It has half of a character.
        return False


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a file's path below a folder.

    Raises:
        UnsafeFileError: It leads out of the folder, or is not a path of a file in it.
    """
    parts = tuple(name.split("/"))
    if len(parts) > _MOST_PARTS or not all(map(is_plain_name, parts)):
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        raise UnsafeFileError(errno.EINVAL, f"{shown!a} is not a path of a file in the folder")
    return parts


def _plain(name: str) -> str:
    if not is_plain_name(name):
        raise ValueError("it can't be the name of a file")
    return name


PlainName = Annotated[str, AfterValidator(_plain)]
"""A text that a file may be named after."""


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
    """Refuse what is not a plain file.

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
