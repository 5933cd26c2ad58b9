"""Search, list and open the documents of folders that the user names; nothing outside is read."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import ParamSpec, TypeVar

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ..errors import InputError, MemoryStoreError, ToolsetError
from ..inputs.folders import selected_folders
from .catalogue import Toolset, ToolsetUse, marked
from .document_library import Library, found_text, library_of, list_text, page_text, similar_names
from .document_reading import files_below, parts_of

__all__ = ["DocumentsSource"]


_MOST_HITS = 20
_MOST_SKIPPED = 1_000_000
_MOST_LINES = 500
_QUERY = 2000
_THREADS = 4
_ALL = ("", ".", "./", "/")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentsSource:
    """Documents in folders: text, Markdown, CSV, JSON and PDF, as they are when a call is made.

    Attributes:
        folders: Paths of folders and files, patterns such as `papers/**/*.pdf`, and behind `!`
            patterns of what isn't taken. Nothing else is read: links are not followed.
        embedder: What searches by meaning; see `make_embedder`.
    """

    folders: tuple[str, ...]
    embedder: str = "wordllama"
    name: str = "documents"

    @property
    def about(self) -> str:
        """What plans are shown of it."""
        names = ", ".join(folder.name for folder, _ in selected_folders(self.folders))
        return f"Searches, lists and opens the user's documents in {names}."

    @property
    def server(self) -> str:
        """Its own name."""
        return self.name

    def check(self) -> None:
        """See whether the folders can be read.

        Raises:
            ToolsetError: There is none, or it can't be read.
            InputError: There is no embedder of that name.
        """
        folders = selected_folders(self.folders)
        if not folders:
            raise ToolsetError("The toolset documents has no folders.", "Give --documents FOLDER.")
        for folder, selection in folders:
            try:
                first = next(files_below(folder, selection), None)
            except OSError as error:
                why = error.strerror or error
                raise ToolsetError(
                    f"The folder of documents {folder} can't be read: {why}.", "Check the path."
                ) from None
            if first is None and selection.patterns:
                patterns = " and ".join(selection.patterns)
                raise ToolsetError(
                    f"No document in {folder} fits {patterns}.",
                    "Put a pattern into quotation marks; ** stands for any folders.",
                )
        self._library()

    def toolset(self, use: ToolsetUse) -> Toolset:  # noqa: ARG002 - all attempts see the same
        """Return the tools; all attempts of the process share what they have read.

        Raises:
            ToolsetError: A folder can't be read.
            InputError: There is no embedder of that name.
        """
        self.check()
        return _toolset(self._library())

    def _library(self) -> Library:
        return library_of(selected_folders(self.folders), self.embedder)


def _toolset(library: Library) -> FunctionToolset[None]:
    async def search(query: str, limit: int = 5, offset: int = 0) -> str:
        """Search the documents; returns passages, each with its document's name and lines.

        It says how many passages there are in all, and in which documents.

        Args:
            query: What is looked for: words, names or numbers that it has, or what it is about.
            limit: How many passages, at most 20; an answer may have room for fewer.
            offset: How many of the best are passed over: to go on where an answer ended.
        """
        most = max(1, min(limit, _MOST_HITS))
        skipped = max(0, min(offset, _MOST_SKIPPED))
        return found_text(await _aside(library.search, query[:_QUERY], most, skipped), query)

    async def open_document(name: str, start_line: int = 1, lines: int = 200) -> str:
        """Read some lines of a document.

        Args:
            name: The document's name, as search and list show it.
            start_line: The first line, from 1.
            lines: How many lines, at most 500; a page may have room for fewer.
        """
        most = max(1, min(lines, _MOST_LINES))
        return await _aside(_page, library, name, max(1, start_line), most)

    async def list_documents(folder: str = "", pattern: str = "*") -> str:
        """List the documents by name.

        Args:
            folder: Only what is in this folder, as it stands in the names; all if empty.
            pattern: Only names that fit, with * and ?: *.csv
        """
        return await _aside(_listing, library, folder, pattern)

    read = marked(idempotent=True)
    return FunctionToolset(
        [
            Tool(search, metadata=read),
            Tool(open_document, name="open", metadata=read),
            Tool(list_documents, name="list", metadata=read),
        ]
    )


def _page(library: Library, name: str, start: int, count: int) -> str:
    try:
        document = library.folders.document(name)
    except OSError:
        meant = similar_names(name, library.folders.documents()[0])
        hint = f"Is it {', '.join(meant)}?" if meant else "Use a name that list or search shows."
        raise InputError(f"There is no document {name!r} that can be read.", hint) from None
    return page_text(document.name, library.folders.lines(document), start, count)


def _listing(library: Library, folder: str, pattern: str) -> str:
    documents, complete = library.folders.documents()
    inside = "" if folder.strip() in _ALL else "/".join(parts_of(folder))
    return list_text(documents, inside, pattern, complete=complete)


async def _aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call what blocks in a thread that nothing but documents waits for.

    Raises:
        ToolFailed: It can't be done; the model may learn from why.
    """
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(_threads(os.getpid()), lambda: function(*args, **kwargs))
    except (InputError, MemoryStoreError) as error:
        raise ToolFailed(str(error)) from error


@cache
def _threads(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - threads don't survive a fork
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="swarm-documents")
