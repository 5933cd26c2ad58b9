"""A folder whose files others may have written, or linked: the only way to them."""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from pydantic import ValidationError

from ..errors import RunDamagedError
from ..files import OWNER_ONLY, UNFINISHED, append_bytes
from .json_text import read_object
from .opening import (
    UnsafeFileError,
    open_folder,
    open_plain,
    opened_folder,
    parts_of,
    require_plain,
    require_size,
)

__all__ = [
    "MOST_BYTES",
    "MOST_TEXT_BYTES",
    "FileReader",
    "FileSource",
    "FolderReader",
    "UntrustedFolder",
    "bounded_lines",
    "damage_of",
    "read_file",
]


MOST_BYTES = 256 << 20
"""Bytes of one read of a file."""
MOST_TEXT_BYTES = 64 << 20
"""Bytes of a text or a JSON document: its values take ten times that, and more."""
_MOST_DEPTH = 40
_NAME_CHARS = 40
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class UntrustedFolder:
    """The files below a folder, by their paths from it, such as `outputs/S1.txt`.

    All of it raises `UnsafeFileError` where a name leads out of the folder, a link is on the way,
    or something else than a plain file is there, and `OSError` where the system refuses.
    """

    root: Path

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return what a file holds.

        Raises:
            FileNotFoundError: It isn't there.
            UnsafeFileError: It has more bytes than `most`.
        """
        with self.opened(name) as file:
            require_size(os.fstat(file.fileno()), most, name)
            return file.read(most)  # It may grow while it is read.

    @contextmanager
    def opened(self, name: str) -> Generator[BinaryIO]:
        """Open a file to read it.

        Raises:
            FileNotFoundError: It isn't there.
        """
        with os.fdopen(self._at(name, lambda at, own: open_plain(at, own, os.O_RDONLY)), "rb") as f:
            yield f

    def head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file.

        Raises:
            FileNotFoundError: It isn't there.
        """
        with self.opened(name) as file:
            return file.read(most)

    def size(self, name: str) -> int:
        """Return how many bytes a file has.

        Raises:
            FileNotFoundError: It isn't there.
        """
        return self.state(name).st_size

    def open_to_append(self, name: str, mode: int = OWNER_ONLY) -> int:
        """Return a descriptor of a file that can be read and added to.

        The file is made if need be, but not its folder.
        """
        return self._at(name, lambda at, own: open_plain(at, own, _APPEND, mode))

    def append_line(self, name: str, line: str, *, durable: bool = False) -> None:
        """Add a line to a file; what is read back may lack it after a crash of the machine.

        If it can't be written, the file may end with a part of the line, which the next line
        doesn't go on from.

        Args:
            name: The file.
            line: The line, without its end.
            durable: Whether it is on the disk when this returns, whatever becomes of the machine.
        """

        def write(at: int, own: str) -> None:
            descriptor = open_plain(at, own, _APPEND, OWNER_ONLY)
            try:
                # The break comes first: a line that was cut off stays a line of its own.
                append_bytes(descriptor, (data := f"\n{line}".encode()))
                if durable:
                    os.fsync(descriptor)
                    if os.fstat(descriptor).st_size == len(data):
                        _sync(at)
            finally:
                os.close(descriptor)

        self._at(name, write, make=True)

    def replace(
        self, name: str, data: bytes, mode: int = OWNER_ONLY, *, durable: bool = True
    ) -> None:
        """Write a file that takes its name only once all of it is written.

        What was there before stays until then; a link gives way as a file does.

        Args:
            name: The file.
            data: What it holds.
            mode: The file's rights.
            durable: Whether it is on the disk when it takes its name.
        """

        def write(at: int, own: str) -> None:
            # Short, since a file's name has an end.
            temporary = f".{own[:_NAME_CHARS]}-{os.urandom(6).hex()}"
            try:
                self._write_new(at, temporary, data, mode, durable=durable)
                os.replace(temporary, own, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                _unlink(at, temporary)
                raise

        self._at(name, write, make=True)

    def create(self, name: str, data: bytes, mode: int = OWNER_ONLY) -> None:
        """Write a file that isn't there yet: whole, and of several processes the first one alone.

        Unlike a temporary file, what is just being written has no hidden name: a process that
        removes hidden files takes none from another process. See `is_unfinished_write` for what a
        kill leaves.

        Raises:
            FileExistsError: Something of that name is there.
        """
        temporary = f"{os.getpid()}-{os.urandom(8).hex()}{UNFINISHED}"

        def write(at: int, own: str) -> None:
            try:
                self._write_new(at, temporary, data, mode)
                # A link fails where a rename would put the second file in the first one's place.
                os.link(temporary, own, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
                _sync(at)
            finally:
                with suppress(OSError):
                    _unlink(at, temporary)

        self._at(name, write, make=True)

    def share(self, name: str, source: UntrustedFolder) -> None:
        """Give a file of another folder a second name here, in the place of what has it."""

        def link(at: int, own: str) -> None:
            def make(other: int, its_name: str) -> None:
                require_plain(os.stat(its_name, dir_fd=other, follow_symlinks=False), its_name)
                _unlink(at, own)
                os.link(its_name, own, src_dir_fd=other, dst_dir_fd=at, follow_symlinks=False)

            source._at(name, make)

        self._at(name, link, make=True)

    def remove(self, name: str) -> None:
        """Remove a file, or a link as such; nothing is wrong where there is none."""
        with suppress(FileNotFoundError):
            self._at(name, _unlink)

    def has(self, name: str) -> bool:
        """Say whether a file is there."""
        try:
            self.state(name)
        except FileNotFoundError:
            return False
        return True

    def state(self, name: str) -> os.stat_result:
        """Return what the system knows of a file.

        Raises:
            FileNotFoundError: It isn't there.
        """

        def look(at: int, own: str) -> os.stat_result:
            found = os.stat(own, dir_fd=at, follow_symlinks=False)
            require_plain(found, own)
            return found

        return self._at(name, look)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, sorted; none where it isn't there.

        They may be of anything: what is opened by them is looked at then.
        """
        with suppress(FileNotFoundError), self._folder(folder) as at:
            return sorted(os.listdir(at))
        return []

    def files(self, folder: str = "") -> list[str]:
        """Return the files in a folder and in those below it, by their paths from it, sorted."""
        found: list[str] = []
        with suppress(FileNotFoundError), self._folder(folder) as at:
            found += _walk(at, "", 0)
        return sorted(found)

    def prune(self, folder: str) -> None:
        """Remove the empty folders in a folder, the inner ones first."""
        with suppress(FileNotFoundError), self._folder(folder) as at:
            _prune(at, 0)

    @contextmanager
    def _folder(self, folder: str) -> Generator[int]:
        with opened_folder(self.root, parts_of(folder) if folder else ()) as at:
            yield at

    def _at(self, name: str, use: Callable[[int, str], _R], *, make: bool = False) -> _R:
        """Use a file's folder, by its descriptor, and its own name.

        Folders are made only where they aren't there, which is rare.
        """
        *parts, own = parts_of(name)
        try:
            with opened_folder(self.root, parts) as at:
                return use(at, own)
        except FileNotFoundError:
            if not make:
                raise
        with opened_folder(self.root, parts, make=True) as at:
            return use(at, own)

    @staticmethod
    def _write_new(at: int, name: str, data: bytes, mode: int, *, durable: bool = True) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, mode, dir_fd=at), "wb") as file:
            file.write(data)
            if not durable:
                return
            file.flush()
            # Without this a crash of the machine may leave the new name with nothing in it.
            os.fsync(file.fileno())


def read_file(path: Path, most: int = MOST_TEXT_BYTES) -> bytes:
    """Return what a stored file holds, whose folder's way a person chose.

    Raises:
        FileNotFoundError: It isn't there.
        OSError: It is a link or no plain file, is too large, or can't be read.
    """
    return UntrustedFolder(path.parent).read(path.name, most)


def bounded_lines(file: BinaryIO, most: int = MOST_TEXT_BYTES) -> Iterator[bytes]:
    """Yield the lines of a file; one that has more than `most` bytes comes as several."""
    while line := file.readline(most):
        yield line


def _sync(at: int) -> None:
    """Have a folder's new names on the disk, where its system can do that."""
    with suppress(OSError):
        os.fsync(at)


def _unlink(at: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)


def _walk(at: int, before: str, depth: int) -> Iterator[str]:
    """Yield the files below a folder.

    Raises:
        UnsafeFileError: Something in it is neither a file nor a folder, or it is too deep.
    """
    if depth > _MOST_DEPTH:
        raise UnsafeFileError(errno.ELOOP, "it has folders in folders without end")
    for name in os.listdir(at):
        try:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if not stat.S_ISDIR(found.st_mode):
                require_plain(found, f"{before}{name}")
                yield f"{before}{name}"
                continue
            inner = open_folder(at, name)
        except FileNotFoundError:
            continue  # It went away meanwhile.
        try:
            yield from _walk(inner, f"{before}{name}/", depth + 1)
        finally:
            os.close(inner)


def _prune(at: int, depth: int) -> None:
    for name in os.listdir(at) if depth <= _MOST_DEPTH else ():
        with suppress(OSError):
            inner = open_folder(at, name)
            try:
                _prune(inner, depth + 1)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=at)


_SHOWN = 100


class FileSource(Protocol):
    """Files by their paths, wherever they are; `UntrustedFolder` says what its methods do."""

    def read(self, name: str, most: int = MOST_BYTES) -> bytes: ...

    def head(self, name: str, most: int) -> bytes: ...

    def size(self, name: str) -> int: ...

    def has(self, name: str) -> bool: ...

    def names(self, folder: str = "") -> list[str]: ...

    def files(self, folder: str = "") -> list[str]: ...

    def replace(self, name: str, data: bytes) -> None: ...

    def create(self, name: str, data: bytes) -> None: ...

    def append_line(self, name: str, line: str, *, durable: bool = False) -> None: ...

    def remove(self, name: str) -> None: ...

    def prune(self, folder: str) -> None: ...


class FileReader(ABC):
    """Reads files; one that isn't there is no error."""

    __slots__ = ()

    @property
    @abstractmethod
    def files(self) -> FileSource:
        """The files. Others may have written them: nothing opens them in another way."""

    @abstractmethod
    def where(self, name: str = "") -> str:
        """Return where a file is, or all of them are, for a person who looks for it."""

    def has(self, name: str) -> bool:
        """Say whether a file is there.

        Raises:
            RunDamagedError: What is there is no file, or can't be looked at.
        """
        with self.readable(name):
            return self.files.has(name)

    def names(self, folder: str, suffix: str = "") -> list[str]:
        """Return the names in a folder that have an ending, sorted; none where it isn't there.

        Raises:
            RunDamagedError: It can't be read.
        """
        with self.readable(folder):
            found = self.files.names(folder)
        return [name for name in found if name.endswith(suffix)]

    def names_below(self, folder: str = "") -> list[str]:
        """Return the files in a folder and those below it, by their paths from it, sorted.

        Raises:
            RunDamagedError: A link is in it, or anything else but files and folders.
        """
        with self.readable(folder):
            return self.files.files(folder)

    def read_bytes(self, name: str, most: int = MOST_BYTES) -> bytes | None:
        """Return what a file holds; None where there is none.

        Raises:
            RunDamagedError: It can't be read, or has more than `most` bytes.
        """
        with self.readable(name):
            try:
                return self.files.read(name, most)
            except FileNotFoundError:
                return None

    def read(self, name: str) -> str | None:
        """Return a file's text; None where there is none.

        Raises:
            RunDamagedError: It is not UTF-8, or can't be read.
        """
        data = self.read_bytes(name, MOST_TEXT_BYTES)
        with self.readable(name):
            return None if data is None else data.decode()

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the object that a file holds; {} where there is no file.

        Raises:
            RunDamagedError: The file holds something else.
        """
        text = self.read(name)
        with self.readable(name):
            return {} if text is None else read_object(text)

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a file of JSON lines; one that was cut off is passed over."""
        with suppress(RunDamagedError):
            for line in (self.read_bytes(name, MOST_TEXT_BYTES) or b"").split(b"\n"):
                with suppress(ValueError):
                    yield read_object(line.decode(errors="replace"))

    @contextmanager
    def readable(self, name: str) -> Generator[None]:
        """Turn what goes wrong while a file is read into an error that names the file.

        Raises:
            RunDamagedError: Something did.
        """
        try:
            yield
        except (OSError, ValueError) as error:
            raise self.damaged(name, error) from None

    def damaged(self, name: str, error: Exception) -> RunDamagedError:
        """Return what to say of a file that can't be read."""
        return RunDamagedError(f"{self.where(name)} is damaged: {damage_of(error)}.")


@dataclass(frozen=True, slots=True)
class FolderReader(FileReader):
    """Reads the files of a folder."""

    folder: Path

    @property
    def files(self) -> UntrustedFolder:
        """Its files."""
        return UntrustedFolder(self.folder)

    def where(self, name: str = "") -> str:
        """Return a file's path."""
        return str(self.folder / name) if name else str(self.folder)

    @contextmanager
    def opened(self, name: str) -> Generator[BinaryIO | None]:
        """Open a file to read it; None where there is none.

        Raises:
            RunDamagedError: It can't be read.
        """
        with self.readable(name), ExitStack() as stack:
            file: BinaryIO | None = None
            with suppress(FileNotFoundError):
                file = stack.enter_context(self.files.opened(name))
            yield file


def damage_of(error: Exception) -> str:
    """Say in short what is wrong with a file that can't be read."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))[:_SHOWN]
        if first["type"] == "missing":
            return f"it has no {where}"
        return f"{where}: {first['msg']}" if where else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1:,} is not UTF-8"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
