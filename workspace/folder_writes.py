"""Writing files into a folder of a user's: all of them or none, and through no link.

The folder may change at any moment: it is somebody's, who goes on working in it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import StorageError, WorkspaceError
from ..untrusted.opening import (
    UnsafeFileError,
    open_folder,
    open_plain,
    opened_folder,
    parts_of,
    require_plain,
)
from .repository import FileData

__all__ = ["FileWrite", "read_file_in", "write_files"]

_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_NAME_CHARS = 40
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)
"""What systems say of a hard link on a disk that has none."""


@dataclass(frozen=True, slots=True)
class FileWrite:
    """What becomes of a file.

    Attributes:
        before: What it has to hold; None where nothing may have its name.
        after: What it is to hold; None where it goes.
    """

    path: str
    before: FileData | None
    after: FileData | None


def read_file_in(folder: Path, path: str) -> FileData | None:
    """Return a file of a folder; None where it isn't there.

    Raises:
        WorkspaceError: A link is on the way, or it is no plain file.
    """
    try:
        with opened_folder(folder, parts_of(path)[:-1]) as at:
            found = _read(at, parts_of(path)[-1])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _problem(path, error) from None
    return found[0]


def write_files(folder: Path, writes: Sequence[FileWrite]) -> None:
    """Write files, or take them away; what is in the way of one keeps all from being written.

    Raises:
        WorkspaceError: One isn't as it has to be, is a link, or lies behind one.
        StorageError: One can't be written. What was written before is as it was.
    """
    writing = _Writing(folder)
    try:
        seen = [_check(folder, write) for write in writes]
        for write in writes:
            writing.stage(write)
        for write, state in zip(writes, seen, strict=True):
            writing.put(write, state)
    except OSError as error:
        raise StorageError(
            f"{folder} can't be written: {error.strerror or error}.{writing.undo()}",
            "See that you may write there, and that the disk has room.",
        ) from error
    except WorkspaceError as error:
        raise WorkspaceError(f"{error.problem}{writing.undo()}", error.fix) from None
    except BaseException:
        writing.undo()
        raise
    for write in writes:
        if write.after is None:
            _prune(folder, parts_of(write.path)[:-1])


_State = tuple[int, int, int, int]
"""What of a file tells that it was written meanwhile."""


def _check(folder: Path, write: FileWrite) -> _State | None:
    """Return the state of a file that is as it has to be; None where there is none."""
    *parts, own = parts_of(write.path)
    try:
        with opened_folder(folder, parts) as at:
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=at):
                raise _refused(write.path, "its folder may not be written to")
            try:
                found = os.stat(own, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:
                found = None
            if found is None or write.before is None:
                if (found is None) is not (write.before is None):
                    raise _refused(write.path, "it is there now" if found else "it is gone")
                return None
            data, state = _read(at, own)
            if data != write.before:
                raise _refused(write.path, "it was changed meanwhile")
            if not os.access(own, os.W_OK, dir_fd=at):
                raise _refused(write.path, "it may not be written to")
            return state
    except FileNotFoundError:
        if write.before is not None:
            raise _refused(write.path, "it is gone") from None
        return None
    except OSError as error:
        raise _problem(write.path, error) from None


def _read(at: int, own: str) -> tuple[FileData, _State]:
    with os.fdopen(open_plain(at, own, os.O_RDONLY), "rb") as file:
        found = os.fstat(file.fileno())
        data = FileData(file.read(), bool(found.st_mode & stat.S_IXUSR))
    return data, _state(found)


def _state(found: os.stat_result) -> _State:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class _Writing:
    """The writing of some files, as far as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._staged: dict[str, str] = {}
        self._made: list[tuple[str, ...]] = []
        self._put: list[tuple[FileWrite, int]] = []

    def stage(self, write: FileWrite) -> None:
        """Write what a file is to hold beside it."""
        if write.after is None:
            return
        *parts, own = parts_of(write.path)
        with self._folder(parts) as at:
            mode = 0o777 if write.after.executable else 0o666  # less the umask
            if write.before is not None:
                mode = _mode(os.stat(own, dir_fd=at, follow_symlinks=False), write.after)
            name = f".{own[:_NAME_CHARS]}-{os.urandom(8).hex()}"
            self._staged[write.path] = name
            _write_new(at, name, write.after.data, mode, exact=write.before is not None)

    def put(self, write: FileWrite, state: _State | None) -> None:
        """Have a file hold what was written beside it, unless it was changed since `state`."""
        *parts, own = parts_of(write.path)
        with opened_folder(self.folder, parts) as at:
            mode = 0
            if state is not None:
                found = os.stat(own, dir_fd=at, follow_symlinks=False)
                require_plain(found, own)
                if _state(found) != state:
                    raise _refused(write.path, "it was changed meanwhile")
                mode = stat.S_IMODE(found.st_mode)
            if write.after is None:
                os.unlink(own, dir_fd=at)
            elif state is None:
                _name(at, self._staged[write.path], own)
            else:
                os.replace(self._staged[write.path], own, src_dir_fd=at, dst_dir_fd=at)
            self._put.append((write, mode))
            self._staged.pop(write.path, None)

    def undo(self) -> str:
        """Make it all as it was; return what to say of that, after a full stop."""
        left = [write.path for write, mode in reversed(self._put) if not self._undo(write, mode)]
        for path, name in self._staged.items():
            with suppress(OSError), opened_folder(self.folder, parts_of(path)[:-1]) as at:
                os.unlink(name, dir_fd=at)
        for parts in reversed(self._made):
            with suppress(OSError), opened_folder(self.folder, parts[:-1]) as at:
                os.rmdir(parts[-1], dir_fd=at)
        if left:
            return f" These are changed and can't be put back: {', '.join(sorted(left))}."
        return " Nothing was changed."

    def _undo(self, write: FileWrite, mode: int) -> bool:
        *parts, own = parts_of(write.path)
        try:
            with opened_folder(self.folder, parts) as at:
                if write.before is None:
                    os.unlink(own, dir_fd=at)
                    return True
                name = f".{own[:_NAME_CHARS]}-{os.urandom(8).hex()}"
                _write_new(at, name, write.before.data, mode, exact=True)
                os.replace(name, own, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            return False
        return True

    @contextmanager
    def _folder(self, parts: Sequence[str]) -> Generator[int]:
        """Open a folder, and make it, and those above it, where they aren't there."""
        for count in range(1, len(parts) + 1):
            with opened_folder(self.folder, parts[: count - 1]) as at:
                try:
                    os.mkdir(parts[count - 1], dir_fd=at)
                    self._made.append((*parts[:count],))
                except FileExistsError:
                    os.close(open_folder(at, parts[count - 1]))
        with opened_folder(self.folder, parts) as at:
            yield at


def _write_new(at: int, name: str, data: bytes, mode: int, *, exact: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, mode, dir_fd=at), "wb") as file:
        if exact:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name(at: int, staged: str, own: str) -> None:
    """Give a file that was written its name, unless something has it."""
    try:
        # A rename would put it in the place of what has come meanwhile.
        os.link(staged, own, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(staged, own, src_dir_fd=at, dst_dir_fd=at)
    else:
        os.unlink(staged, dir_fd=at)


def _mode(found: os.stat_result, after: FileData) -> int:
    """Return a file's rights, with those to execute it as it is to have them. Pure."""
    rights = stat.S_IMODE(found.st_mode) & 0o777
    if after.executable == bool(rights & stat.S_IXUSR):
        return rights
    # Who may read it may execute it.
    return rights | (rights & 0o444) >> 2 if after.executable else rights & ~_EXECUTE


def _prune(folder: Path, parts: Sequence[str]) -> None:
    """Remove folders that have become empty, the inner ones first."""
    for count in range(len(parts), 0, -1):
        with suppress(OSError), opened_folder(folder, parts[: count - 1]) as at:
            os.rmdir(parts[count - 1], dir_fd=at)


def _problem(path: str, error: OSError) -> WorkspaceError:
    if isinstance(error, UnsafeFileError):
        return _refused(path, error.strerror or str(error))
    if isinstance(error, NotADirectoryError):
        return _refused(path, "a file is in the place of a folder on the way there")
    return _refused(path, error.strerror or str(error))


def _refused(path: str, why: str) -> WorkspaceError:
    return WorkspaceError(f"{path} can't be written: {why}.", "See what is there, then try again.")
