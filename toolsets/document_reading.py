"""Documents by name: what the folders have, no link followed, and the lines of each."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path, PurePath
from threading import Lock
from zlib import crc32

from ..errors import InputError
from ..files import file_problem
from ..inputs.contents import MAX_FILE_BYTES, size, text_of
from ..inputs.selection import FileSelection
from ..text import clean
from ..untrusted.opening import open_folder, open_plain, opened_folder

__all__ = [
    "LEAST_CHUNK",
    "MAX_CHUNK",
    "MAX_DEPTH",
    "MAX_DOCUMENTS",
    "MAX_LINE",
    "Chunk",
    "Document",
    "DocumentFolders",
    "FileState",
    "Hit",
    "SearchResult",
    "chunks_of",
    "file_bytes",
    "file_state",
    "files_below",
    "folder_labels",
    "is_shown",
    "lines_of",
    "parts_of",
    "word_numbers",
    "words_of",
]


MAX_DEPTH = 32
"""Folders in folders that are looked into."""
_MAX_PART = 255
# Control characters, those that set the direction of writing, and halves of characters: such a name
# could look like other lines of an answer, or can't be written at all.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_shown(part: str) -> bool:
    """Say whether a file or folder of that name is a document, or may have some: hidden ones
    aren't, nor those whose name can't be written in a line.
    """
    return bool(part) and not part.startswith(".") and _UNSAFE.search(part) is None


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a document's or a folder's name, from the folder that was given.

    Raises:
        InputError: It isn't a name below a folder: absolute, with `..`, hidden, or too long.
    """
    parts = tuple(part for part in name.strip().removesuffix("/").split("/") if part != ".")
    if name.strip().startswith("/") or ".." in parts:
        raise InputError(f"{name!r} leads out of the folders.", "Use a name that list shows.")
    if not parts or not all(map(is_shown, parts)):
        raise InputError(f"{name!r} names no document.", "Use a name that list shows.")
    if len(parts) > MAX_DEPTH or any(len(part.encode()) > _MAX_PART for part in parts):
        raise InputError("The name is too long.", "Use a name that list shows.")
    return parts


def folder_labels(folders: Sequence[PurePath]) -> tuple[str, ...]:
    """Return what documents' names begin with: nothing for a single folder, else its own name.

    Folders of one name are numbered.
    """
    if len(folders) == 1:
        return ("",)
    taken: list[str] = []
    for folder in folders:
        name = _UNSAFE.sub("_", folder.name).lstrip(".") or "folder"
        label, number = name, 2
        while label in taken:
            label, number = f"{name}-{number}", number + 1
        taken.append(label)
    return tuple(taken)


MAX_LINE = 1000
"""Characters of a line: a longer one counts as several, so that any part can be asked for."""


def lines_of(text: str) -> list[str]:
    """Return a text's lines, without control characters and with long ones in pieces.

    Together they are all that the text says, in its order. An empty text has none.
    """
    found: list[str] = []
    for line in clean(text).rstrip().split("\n"):
        if len(line) <= MAX_LINE:
            found.append(line.rstrip())
        else:
            found += _pieces(line)
    return found if any(found) else []


def _pieces(line: str) -> list[str]:
    """Cut a long line between words, or within a word that is longer than that."""
    pieces: list[str] = []
    start = 0
    while len(line) - start > MAX_LINE:
        blank = line.rfind(" ", start + 1, start + MAX_LINE + 1)
        end = blank if blank > start else start + MAX_LINE
        pieces.append(line[start:end].rstrip())
        start = end
    pieces.append(line[start:].rstrip())
    return pieces


_WORD = re.compile(r"\w+")
# Numbers, dates and what things are filed under count as a whole, too: 3.14, 2024-05-01, INV-20391.
_COMPOUND = re.compile(r"\b\w++(?:[-./:@#+]\w++)++")


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in small letters, and what is made up of several."""
    folded = text.casefold()
    return _WORD.findall(folded) + _COMPOUND.findall(folded)


def word_numbers(text: str) -> Counter[int]:
    """Return how often each word is there, by a number of 32 bits that stands for it."""
    counts = Counter(words_of(text))
    return Counter({_number(word): count for word, count in counts.items()})


def _number(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass"))


LEAST_CHUNK = 500
"""Characters from which on a part takes no further paragraph: what speaks of many things is like
nothing that is asked."""
MAX_CHUNK = 1200
"""Characters of a part; it must be more than a line may have."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a document, counted from 1."""

    first_line: int
    last_line: int
    text: str


def chunks_of(lines: Sequence[str]) -> list[Chunk]:
    """Return the parts of a document, in its order.

    Each line that isn't blank is in just one of them.

    Args:
        lines: As `lines_of` makes them.
    """
    found: list[Chunk] = []
    taken: range | None = None
    for block in _blocks(lines):
        together = range(taken.start if taken else block.start, block.stop)
        is_full = taken is not None and _size(lines, taken) >= LEAST_CHUNK
        if taken is not None and (is_full or _size(lines, together) > MAX_CHUNK):
            found.append(_chunk(lines, taken))
            together = block
        taken = together
    return [*found, _chunk(lines, taken)] if taken else found


def _blocks(lines: Sequence[str]) -> Iterator[range]:
    """Yield the paragraphs as ranges of indexes; of a long one, pieces that fit."""
    for is_text, group in groupby(range(len(lines)), lambda n: bool(lines[n].strip())):
        numbers = list(group)
        if is_text:
            yield from _fitting(lines, range(numbers[0], numbers[-1] + 1))


def _fitting(lines: Sequence[str], block: range) -> Iterator[range]:
    start, size = block.start, 0
    for number in block:
        length = len(lines[number]) + 1
        if size + length > MAX_CHUNK and number > start:
            yield range(start, number)
            start, size = number, 0
        size += length
    yield range(start, block.stop)


def _size(lines: Sequence[str], part: range) -> int:
    return sum(len(lines[number]) + 1 for number in part)


def _chunk(lines: Sequence[str], part: range) -> Chunk:
    return Chunk(part.start + 1, part.stop, "\n".join(lines[part.start : part.stop]))


@dataclass(frozen=True, slots=True)
class FileState:
    """A file below a folder, and what tells whether it is as it was.

    Attributes:
        parts: Its path from the folder.
        size: In bytes.
        changed_ns: When its content or its permissions last changed, as the system counts.
    """

    parts: tuple[str, ...]
    size: int
    changed_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was when the folders were looked through.

    Attributes:
        folder: The index of its folder.
    """

    name: str
    folder: int
    state: FileState


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a document that a question found, with its score; higher is better."""

    name: str
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, and what it didn't look at.

    Attributes:
        hits: Parts, best first; those after the first of a document count less.
        first: The number of the first of them, from 1.
        total: How many parts fit in all.
        documents: How many parts of each document fit, most first.
        unread: Why documents can't be read, by name.
        left_out: How many documents don't fit into the index.
        complete: Whether the folders have no more documents than are looked through.
    """

    hits: tuple[Hit, ...]
    skipped: int
    total: int
    documents: tuple[tuple[str, int], ...]
    unread: Mapping[str, str]
    left_out: int
    complete: bool


_ALL = FileSelection()


def files_below(root: Path, selection: FileSelection = _ALL) -> Iterator[FileState]:
    """Yield the plain files of a folder and of those in it, sorted; links and hidden ones aren't.

    Args:
        root: The folder.
        selection: Which of them are taken.

    Raises:
        OSError: The folder itself can't be read. What can't be read in it is left out.
    """
    with opened_folder(root) as folder:
        yield from _walk(folder, (), selection)


def file_state(root: Path, parts: Sequence[str]) -> FileState:
    """Return the state of a file below a folder.

    Raises:
        InputError: It is not a plain file.
        OSError: It isn't there or can't be read; where a link is on the way, too.
    """
    with _opened(root, parts) as file:
        return _state(os.fstat(file), tuple(parts))


def file_bytes(root: Path, parts: Sequence[str]) -> bytes:
    """Return what a file below a folder holds.

    Raises:
        InputError: It is not a plain file, or too large.
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
        raise InputError(f"{'/'.join(parts)} is not a plain file.", "Use a name that list shows.")


def _walk(folder: int, parts: tuple[str, ...], selection: FileSelection) -> Iterator[FileState]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(filter(is_shown, (entry.name for entry in entries)))
    except OSError:
        if not parts:
            raise
        return
    for name in names:
        yield from _look(folder, name, (*parts, name), selection)


def _look(
    folder: int, name: str, parts: tuple[str, ...], selection: FileSelection
) -> Iterator[FileState]:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            if selection.takes(parts):
                yield _state(found, parts)
            return
        if not stat.S_ISDIR(found.st_mode) or len(parts) >= MAX_DEPTH:
            return
        if not selection.enters(parts):
            return
        inner = open_folder(folder, name)
    except OSError:
        return  # It went away, became a link, or isn't ours to read.
    try:
        yield from _walk(inner, parts, selection)
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
_CACHED = 8
_CACHED_LINES = 200_000


class DocumentFolders:
    """The folders that a user named. Safe from any number of threads; calls block."""

    def __init__(self, folders: Sequence[tuple[Path, FileSelection]]) -> None:
        """Take the folders, resolved, each with what is taken of it; nothing is read yet."""
        self.folders = tuple(folder for folder, _ in folders)
        self._selections = tuple(selection for _, selection in folders)
        self.labels = folder_labels(self.folders)
        self._lock = Lock()
        self._cached: OrderedDict[Document, list[str]] = OrderedDict()

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
            if (cached := self._cached.get(document)) is not None:
                self._cached.move_to_end(document)
                return cached
        found = lines_of(self._text(document))
        with self._lock:
            self._cached[document] = found
            while len(self._cached) > _CACHED or (
                len(self._cached) > 1 and sum(map(len, self._cached.values())) > _CACHED_LINES
            ):
                self._cached.popitem(last=False)
        return found

    def document(self, name: str) -> Document:
        """Return the document of that name, as it is now.

        Raises:
            InputError: It is not a name of a document.
            OSError: There is no such document, or it can't be read.
        """
        folder, parts = self._place(name)
        if not self._selections[folder].takes(parts):
            raise InputError(f"{name!r} names no document.", "Use a name that list shows.")
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
                for state in files_below(folder, self._selections[number]):
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
