"""Documents by name: what the folders have, and the lines of each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock

from ...errors import InputError
from ...inputs.contents import text_of
from ...text_files import file_problem
from .folder import file_bytes, file_state, files_below
from .lines import lines_of
from .names import folder_labels, parts_of
from .records import Document

__all__ = ["MAX_DOCUMENTS", "DocumentFolders"]

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
