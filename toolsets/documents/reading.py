"""Documents by name: what the folders have, no link followed, and the lines of each."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock

from ...errors import InputError
from ...inputs.contents import text_of
from ...inputs.limits import MAX_FILE_BYTES, size
from ...text_files import file_problem
from ...untrusted.opening import open_folder, open_plain, opened_folder
from .chunks import Document, FileState, lines_of
from .names import MAX_DEPTH, folder_labels, is_shown, parts_of

__all__ = ["MAX_DOCUMENTS", "DocumentFolders", "file_bytes", "file_state", "files_below"]


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


MAX_DOCUMENTS = 10_000
"""Documents of all folders; with more, a search would mostly look for changes."""
_KEPT = 8
_KEPT_LINES = 200_000


class DocumentFolders:
    """The folders that a user named. Safe from any number of threads; calls block."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Take the folders, resolved; nothing is read yet."""
        self.folders = tuple(folders)
        self.labels = folder_labels(self.folders)
        self._lock = Lock()
        self._kept: OrderedDict[Document, list[str]] = OrderedDict()

    def documents(self) -> tuple[tuple[Document, ...], bool]:
        """Return the documents in the order of their folders and names, and whether they are all.

        Raises:
            InputError: A folder can't be read.
        """
        found = list(islice(self._documents(), MAX_DOCUMENTS + 1))
        return tuple(found[:MAX_DOCUMENTS]), len(found) <= MAX_DOCUMENTS

    def lines(self, document: Document) -> list[str]:
        """Return the lines of a document; those of the last few are kept as long as they stay.

        Raises:
            InputError: It can't be read, or is nothing that has a text.
        """
        with self._lock:
            if (kept := self._kept.get(document)) is not None:
                self._kept.move_to_end(document)
                return kept
        found = lines_of(self._text(document))
        with self._lock:
            self._kept[document] = found
            while len(self._kept) > _KEPT or (
                len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_LINES
            ):
                self._kept.popitem(last=False)
        return found

    def document(self, name: str) -> Document:
        """Return the document of that name, as it is now.

        Raises:
            InputError: It is no name of a document.
            OSError: There is no such document, or it can't be read.
        """
        folder, parts = self._place(name)
        state = file_state(self.folders[folder], parts)
        return Document("/".join(filter(None, [self.labels[folder], *parts])), folder, state)

    def _place(self, name: str) -> tuple[int, tuple[str, ...]]:
        """Return the folder that a name is in, as its index, and the parts below that."""
        parts = parts_of(name)
        if len(self.folders) == 1:
            return 0, parts
        if parts[0] in self.labels and len(parts) > 1:
            return self.labels.index(parts[0]), parts[1:]
        begins = ", ".join(f"{label}/" for label in self.labels)
        raise InputError(f"{name!r} names no document.", f"Names begin with {begins}.")

    def _documents(self) -> Iterator[Document]:
        for number, (folder, label) in enumerate(zip(self.folders, self.labels, strict=True)):
            try:
                for state in files_below(folder):
                    path = "/".join(state.parts)
                    yield Document(f"{label}/{path}" if label else path, number, state)
            except OSError as error:
                raise file_problem(f"folder {label or folder.name}", error) from None

    def _text(self, document: Document) -> str:
        try:
            data = file_bytes(self.folders[document.folder], document.state.parts)
        except OSError as error:
            raise file_problem(
                f"document {document.name}", error, "Use a name that list shows."
            ) from None
        return text_of(data, document.name, "document")
