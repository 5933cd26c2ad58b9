"""Atomic files: each appears whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import InputError, StorageError
from .text import count_in

__all__ = [
    "HOME_VARIABLE",
    "OWNER_FOLDER",
    "OWNER_ONLY",
    "READABLE",
    "UNFINISHED",
    "append_bytes",
    "close_to_others",
    "decoded",
    "encoding_problem",
    "file_problem",
    "is_shared_mode",
    "is_unfinished_write",
    "make_folder",
    "owner_only",
    "process_lives",
    "read_text",
    "replace_atomically",
    "require_room",
    "storage_error",
    "try_folder",
    "write_atomically",
]


HOME_VARIABLE = "PREFECT_INTEGRATIONS_SWARM_HOME"
"""Names the folder that runs and memory lie in."""
UNFINISHED = ".new"
"""How files end that a process is just creating; their names begin with its number and a hyphen."""
OWNER_ONLY = 0o600
OWNER_FOLDER = 0o700
READABLE = 0o666
"""A file that a person named: the umask decides who may read it."""
_OTHERS, _ANYBODY = stat.S_IRWXG | stat.S_IRWXO, stat.S_IRWXO


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, whatever the umask: for its owner alone.

    Raises:
        OSError: It can't be made, or something else has its name.
    """
    try:
        folder.mkdir(OWNER_FOLDER, exist_ok=True)
    except FileNotFoundError:
        # With `parents`, Python gives those above the umask's mode.
        make_folder(folder.parent)
        folder.mkdir(OWNER_FOLDER, exist_ok=True)


def owner_only(path: str, flags: int) -> int:
    """Open a file as `open(…, opener=owner_only)` does: one that it makes is its owner's alone.

    One that was open to others, by an older version, is closed to them.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC, OWNER_ONLY)
    close_to_others(path, descriptor)
    return descriptor


def close_to_others(path: str | Path, descriptor: int | None = None) -> None:
    """Take from others what they may do with a file or folder; where it can't be, it stays.

    In a folder that is shared, the group keeps what it may do.

    Args:
        path: The file or folder.
        descriptor: The same, if it is open.
    """
    place = path if descriptor is None else descriptor
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(place).st_mode)
        if mode & _OTHERS:
            is_shared = is_shared_mode(os.stat(os.path.dirname(path) or ".").st_mode)
            os.chmod(place, mode & ~(_ANYBODY if is_shared else _OTHERS))


def is_shared_mode(mode: int) -> bool:
    """Say whether a folder's mode is one that a person gives it to share it with its group.

    No umask gives it: what is made in the folder has its group, and nobody else may look at it.
    """
    return bool(mode & stat.S_ISGID and mode & stat.S_IRWXG and not mode & _ANYBODY)


def write_atomically(path: Path, data: bytes | str, *, mode: int = OWNER_ONLY) -> None:
    """Write a file that takes its name only once all of it is on the disk; a text is UTF-8.

    Raises:
        OSError: It can't be written. What was there before stays, and no temporary file.
    """
    content = data.encode() if isinstance(data, str) else data
    with _replacing(path, mode) as (_, file):
        file.write(content)


@contextmanager
def replace_atomically(path: Path, *, mode: int = OWNER_ONLY) -> Generator[Path]:
    """Yield a temporary file in the same folder, for what is written piece by piece.

    It takes the path's place at the end, and is removed if anything fails before.

    Raises:
        OSError: There is no such folder, or it can't be written.
    """
    with _replacing(path, mode) as (temporary, _):
        yield temporary


@contextmanager
def _replacing(path: Path, mode: int) -> Generator[tuple[Path, BinaryIO]]:
    """Yield the temporary file by its path, and open for writing."""
    # Short, since a file's name has an end: 255 bytes on most systems.
    temporary = path.with_name(f".{path.name[:40]}-{os.urandom(8).hex()}")
    # The umask has a say in `READABLE` alone.
    made = mode if mode == READABLE else OWNER_ONLY
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, made)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield temporary, file
            file.flush()
            # Without this a crash of the machine may leave the new name with nothing in it.
            os.fsync(file.fileno())
        if mode != made:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_unfinished_write(path: Path) -> bool:
    """Say whether the process is gone that an unfinished file's name begins with."""
    number = count_in(path.name.partition("-")[0])
    return number is None or not process_lives(number)


def process_lives(number: int) -> bool:
    """Say whether this machine has a process of that number; another user's is one too."""
    if number <= 0:  # To the system that is a group of processes.
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def append_bytes(descriptor: int, data: bytes) -> None:
    """Write to a file that was opened to be added to.

    Raises:
        OSError: It can't be written; a part of it may have been.
    """
    if os.write(descriptor, data) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def try_folder(folder: Path, size: int = 0) -> None:
    """Write a file of some bytes into a folder, which is made if need be; nothing of it stays.

    Permissions don't tell: root has them all, and a disk may be read-only.

    Raises:
        OSError: It can't be written.
    """
    make_folder(folder)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(size))
        file.flush()


def require_room(folder: Path, least_bytes: int, variable: str = HOME_VARIABLE) -> None:
    """Make sure that a folder takes files and that its disk has some room.

    Args:
        folder: The folder; it is made if need be.
        least_bytes: How much room.
        variable: What names another folder.

    Raises:
        StorageError: It takes none, or has less room than that.
    """
    try:
        # A quota doesn't show in what the disk has.
        try_folder(folder, _TRIED_BYTES)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise storage_error(folder, least_bytes, error, variable) from error
    if free < least_bytes:
        raise _no_room(folder, least_bytes, free, variable)


_TRIED_BYTES = 1 << 16


def storage_error(
    path: Path, needed_bytes: int, error: OSError, variable: str = HOME_VARIABLE
) -> StorageError:
    """Say what kept a file from being written, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = next((p for p in (path, *path.parents) if p.exists()), path)
        return _no_room(path, needed_bytes, shutil.disk_usage(place).free, variable)
    return StorageError(
        f"{path} can't be written: {error.strerror or error}.",
        "Check that its folder is there and that you may write to it, or name another folder in "
        f"{variable}.",
    )


def _no_room(path: Path, needed_bytes: int, free_bytes: int, variable: str) -> StorageError:
    return StorageError(
        f"The disk has no room for {path}: {_size(needed_bytes)} are needed, "
        f"{_size(free_bytes)} are free.",
        f"Free some room on it, or name a folder on another disk in {variable}.",
    )


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / 1024:.1f} KiB"


_BOM = "\ufeff"
_LARGEST = 256 << 20
"""Bytes of a file that is read as a whole; a device may have no end."""


def read_text(path: Path, what: str = "file", advice: str = "", *, whole: bool = False) -> str:
    """Return the text of a UTF-8 file; `-` is standard input.

    Line ends become newlines, and the mark that some editors put before UTF-8 is left out.

    Args:
        path: The file.
        what: What to call it in errors.
        advice: What to do where it is missing; "Check the path." if nothing is given.
        whole: Keep the mark at the beginning: it is a part of what is checked.

    Raises:
        InputError: It can't be read, or it is not UTF-8; says which byte isn't.
    """
    is_stdin = str(path) == "-"
    name = "text on standard input" if is_stdin else f"{what} {path}"
    try:
        data = _bytes_of(sys.stdin.buffer) if is_stdin else _file_bytes(path)
    except (OSError, ValueError) as error:
        raise file_problem(name, error, advice) from None
    if len(data) > _LARGEST:
        raise InputError(
            f"The {name} has more than {_LARGEST >> 20} MiB.", "Give a smaller one, or its parts."
        )
    return decoded(data, name, whole=whole)


def _file_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return _bytes_of(file)


def _bytes_of(file: BinaryIO) -> bytes:
    return file.read(_LARGEST + 1)


def decoded(data: bytes, name: str, *, whole: bool = False) -> str:
    """Return the text that a UTF-8 file has, with newlines for line ends.

    Args:
        data: The file.
        name: What to call it in errors, with its noun: `plan plan.json`.
        whole: Keep the mark that some editors put before UTF-8.

    Raises:
        InputError: It is not UTF-8; says which byte isn't.
    """
    if (wrong := encoding_problem(data)) is not None:
        raise InputError(f"The {name} can't be read as UTF-8: {wrong}.", _other_encoding(data))
    text = data.decode("utf-8")
    if not whole:
        text = text.removeprefix(_BOM)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def encoding_problem(data: bytes) -> str | None:
    """Say which byte is not UTF-8, and in which line; None if all are."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"byte {error.start + 1:,} is 0x{data[error.start]:02x}, in line {line:,}"
    return None


def file_problem(name: str, error: OSError | ValueError, advice: str = "") -> InputError:
    """Return what to say of a file that can't be read.

    Args:
        name: The file with its noun: `plan plan.json`.
        error: Why not.
        advice: What to do where it is missing.
    """
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    match error:
        case PermissionError():
            advice = "Check its permissions."
        case IsADirectoryError():
            advice = "Give a file, not a folder."
        case _:
            advice = advice or "Check the path."
    return InputError(f"The {name} can't be read: {reason}.", advice)


def _other_encoding(data: bytes) -> str:
    """Say what to do about bytes that are not UTF-8, by what they look like."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "It looks like UTF-16. Save it as UTF-8, or: iconv -f UTF-16 -t UTF-8 FILE > NEW"
    if b"\0" in data[:8192]:
        return "It looks like a binary file. Give a text file."
    return "Save it as UTF-8; from Latin-1: iconv -f LATIN1 -t UTF-8 FILE > NEW"
