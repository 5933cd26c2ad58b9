"""A library of parts of documents, searched by meaning and by words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..inputs.contents import size
from ..inputs.selection import FileSelection
from ..memory.embedding import make_embedder
from ..memory.protocols import Embedder, Vectors
from ..quoting import PromptPart, Quote, with_quotes
from ..text import one_line, plural
from .document_reading import (
    Chunk,
    Document,
    DocumentFolders,
    Hit,
    SearchResult,
    chunks_of,
    word_numbers,
)

__all__ = [
    "LexicalIndex",
    "Library",
    "Postings",
    "found_text",
    "joined_postings",
    "library_of",
    "list_text",
    "page_text",
    "postings_of",
    "ranked",
    "similar_names",
]


_SATURATION = 1.2
_LENGTH = 0.75

Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Postings:
    """Which part has which word how often: three columns of one length.

    `lengths` has the count of words of each part.
    """

    words: Numbers
    parts: Numbers
    counts: NDArray[np.uint8]
    lengths: Numbers


def postings_of(texts: Sequence[Counter[int]]) -> Postings:
    """Return the postings of some parts, which are numbered from 0."""
    sizes = [len(counts) for counts in texts]
    words = [word for counts in texts for word in counts]
    counts = [min(count, 255) for counted in texts for count in counted.values()]
    return Postings(
        np.array(words, dtype=np.uint32),
        np.repeat(np.arange(len(texts), dtype=np.uint32), sizes),
        np.array(counts, dtype=np.uint8),
        np.array([counted.total() for counted in texts], dtype=np.uint32),
    )


def joined_postings(several: Sequence[Postings]) -> Postings:
    """Return the postings of all parts, which are numbered on from document to document."""
    if not several:
        return postings_of([])
    starts = np.cumsum([0, *(len(each.lengths) for each in several)])[:-1]
    parts = [each.parts + np.uint32(start) for each, start in zip(several, starts, strict=True)]
    return Postings(
        np.concatenate([each.words for each in several]),
        np.concatenate(parts),
        np.concatenate([each.counts for each in several]),
        np.concatenate([each.lengths for each in several]),
    )


_LEAST_SHARE = 1 / 3
"""The share of the best part's score that a part has to have to count as found."""
_REPEATED = 0.8
"""What the score of each further part of a document is multiplied with, once more for each."""


def ranked(scores: Vectors, names: Sequence[str]) -> list[int]:
    """Return the indexes of the parts that fit, best first, spread over the documents.

    A document's own parts stay in the order of their scores.

    Args:
        scores: The score of each part.
        names: The document of each part.
    """
    if not len(scores):
        return []
    best = float(scores.max())
    order = [int(n) for n in np.argsort(-scores, kind="stable")]
    if best > 0:
        order = [n for n in order if scores[n] >= best * _LEAST_SHARE]
    seen = Counter[str]()
    weighed: dict[int, float] = {}
    for n in order:
        score = float(scores[n])
        weighed[n] = score * _REPEATED ** seen[names[n]] if score > 0 else score
        seen[names[n]] += 1
    return sorted(order, key=lambda n: -weighed[n])


class LexicalIndex:
    """All postings, by word."""

    def __init__(self, postings: Postings) -> None:
        order = np.argsort(postings.words, kind="stable")
        self._words = postings.words[order]
        self._parts = postings.parts[order]
        self._counts = postings.counts[order]
        self._lengths = postings.lengths

    def scores(self, words: Counter[int]) -> NDArray[np.float32]:
        """Return how far each part has the words of a question, from 0 to 1, shape (parts,).

        A word counts the more the fewer parts have it. Words that no part has count, too: what has
        nothing but a common word of a question comes out near 0.
        """
        total = np.zeros(len(self._lengths), dtype=np.float32)
        weights = 0.0
        for word in words:
            # As it is in the array: of another type, all of that would be converted first.
            number = np.uint32(word)
            start = int(np.searchsorted(self._words, number, "left"))
            end = int(np.searchsorted(self._words, number, "right"))
            weight = self._weight(end - start)
            weights += weight
            found = self._parts[start:end]
            counts = self._counts[start:end].astype(np.float32)
            total[found] += weight * counts / (counts + self._damping[found])
        return total / np.float32(weights) if weights else total

    def _weight(self, holders: int) -> float:
        return float(np.log1p((len(self._lengths) - holders + 0.5) / (holders + 0.5)))

    @cached_property
    def _damping(self) -> NDArray[np.float32]:
        mean = max(1.0, float(self._lengths.mean())) if len(self._lengths) else 1.0
        relative = self._lengths.astype(np.float32) / np.float32(mean)
        return _SATURATION * (1 - _LENGTH + _LENGTH * relative)


_MAX_CHARACTERS = 32 << 20
"""Characters of all documents that are searched; they are kept in memory."""
_MAX_VECTOR_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A document as it is searched; `unread` says why it isn't."""

    chunks: Sequence[Chunk] = ()
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    postings: Postings = field(default_factory=lambda: postings_of([]))
    characters: int = 0
    unread: str = ""


@dataclass(frozen=True, slots=True)
class _Index:
    """All documents as they were at some time. It doesn't change; a newer one takes its place."""

    documents: tuple[Document, ...]
    complete: bool
    indexed: Mapping[Document, _Indexed]
    names: Sequence[str]
    chunks: Sequence[Chunk]
    vectors: Vectors
    lexical: LexicalIndex


class Library:
    """The documents of some folders. What has changed is read again at the next search.

    Safe from any number of threads; calls block.
    """

    def __init__(self, folders: Sequence[tuple[Path, FileSelection]], embedder: Embedder) -> None:
        """Take resolved folders, each with what is taken of it; nothing is read yet."""
        self.folders = DocumentFolders(folders)
        self._embedder = embedder
        self._lock = Lock()
        self._index = self._joined((), True, {})

    def search(self, query: str, limit: int, skipped: int = 0) -> SearchResult:
        """Return the parts that fit a question best, spread over the documents.

        Args:
            query: The question.
            limit: The most parts.
            skipped: How many better ones are left out, as on an earlier page.

        Raises:
            InputError: A folder can't be read.
            MemoryStoreError: The embedder fails.
        """
        index = self._current()
        scores = self._scores(index, query)
        order = ranked(scores, index.names)
        page = order[skipped : skipped + limit]
        hits = [Hit(index.names[n], index.chunks[n], float(scores[n])) for n in page]
        having = Counter(index.names[n] for n in order)
        unread = {d.name: i.unread for d, i in index.indexed.items() if i.unread}
        left_out = len(index.documents) - len(index.indexed)
        return SearchResult(
            tuple(hits),
            skipped,
            len(order),
            (*having.most_common(),),
            MappingProxyType(unread),
            left_out,
            index.complete,
        )

    def _scores(self, index: _Index, query: str) -> Vectors:
        lexical = index.lexical.scores(word_numbers(query))
        if not len(index.chunks):
            return lexical
        return lexical + index.vectors @ self._embedder.embed([query])[0]

    def _current(self) -> _Index:
        """Return the index of the documents as they are now; what stayed isn't read again."""
        now = self.folders.documents()
        if (index := self._index) and (index.documents, index.complete) == now:
            return index
        with self._lock:
            documents, complete = self.folders.documents()
            if (self._index.documents, self._index.complete) != (documents, complete):
                self._index = self._joined(documents, complete, self._read(documents))
            return self._index

    def _read(self, documents: Sequence[Document]) -> dict[Document, _Indexed]:
        before, found = self._index.indexed, dict[Document, _Indexed]()
        characters, rows = 0, 0
        most_rows = _MAX_VECTOR_BYTES // (4 * self._embedder.dimension)
        for document in documents:
            indexed = before.get(document)
            if indexed is None and characters + document.state.size > _MAX_CHARACTERS:
                continue  # A smaller one may fit.
            indexed = indexed or self._indexed(document)
            if characters + indexed.characters > _MAX_CHARACTERS:
                continue
            if rows + len(indexed.chunks) > most_rows:
                break
            characters += indexed.characters
            rows += len(indexed.chunks)
            found[document] = indexed
        return found

    def _indexed(self, document: Document) -> _Indexed:
        try:
            chunks = chunks_of(self.folders.lines(document))
        except InputError as error:
            return _Indexed(unread=error.problem)
        # A document is found by what it is called, too.
        texts = [chunk.text for chunk in chunks]
        words = [word_numbers(text) for text in texts]
        for number in word_numbers(document.name):
            for counts in words:
                counts.setdefault(number, 1)
        return _Indexed(
            chunks, self._embedder.embed(texts), postings_of(words), sum(map(len, texts))
        )

    def _joined(
        self,
        documents: tuple[Document, ...],
        complete: bool,
        indexed: Mapping[Document, _Indexed],
    ) -> _Index:
        searched = [each for each in indexed.values() if each.chunks]
        return _Index(
            documents,
            complete,
            indexed,
            [document.name for document, each in indexed.items() for _ in each.chunks],
            [chunk for each in searched for chunk in each.chunks],
            np.concatenate([each.vectors for each in searched])
            if searched
            else np.zeros((0, 0), dtype=np.float32),
            LexicalIndex(joined_postings([each.postings for each in searched])),
        )


@lru_cache(maxsize=4)
def library_of(folders: tuple[tuple[Path, FileSelection], ...], embedder: str) -> Library:
    """Return the library of what is taken of some resolved folders.

    All attempts of the process share it.

    Raises:
        InputError: There is no embedder of that name.
    """
    return Library(folders, make_embedder(embedder))


_PAGE = 12_000
"""Characters of a page, so that it comes whole through what a call may return."""
_NAMES = 200
_PATTERN = 200
_COMPARED = 2000
_UNREAD_SHOWN = 3
_SPREAD = 40
"""Documents that are named with the number of their passages."""


def found_text(result: SearchResult, query: str) -> str:
    """Write what a search found: how many parts there are, and each below its document's name.

    As many as a page has room for are shown, and how to go on.
    """
    if not result.hits:
        nothing = f"Nothing was found for {one_line(query)!r}."
        behind = f"[There are {plural(result.total, 'passage')}; these are behind the last one.]"
        return "\n\n".join([behind if result.total else nothing, *_not_searched(result)])
    shown: list[PromptPart] = []
    room = _PAGE
    for hit in result.hits:
        room -= len(hit.chunk.text)
        if room < 0 and shown:
            break
        lines = f"lines {hit.chunk.first_line}-{hit.chunk.last_line}"
        shown.append(Quote(text=hit.chunk.text, label=f"[{_shown(hit.name)}, {lines}]"))
    parts = [_extent_text(result, len(shown)), *shown, *_not_searched(result)]
    return "\n\n".join(with_quotes(parts, explained=False))


def _extent_text(result: SearchResult, shown: int) -> str:
    """Say which of how many passages these are, of which documents, and how to go on."""
    last = result.skipped + shown
    of = plural(len(result.documents), "document")
    lines = [f"[Passages {result.skipped + 1}-{last} of {result.total}, in {of}.]"]
    if last < result.total:
        lines[0] = f"{lines[0].removesuffix(']')} It goes on: offset={last}.]"
    if not result.skipped and len(result.documents) > 1:
        named = [f"{one_line(name, 100)} ({n})" for name, n in result.documents[:_SPREAD]]
        more = len(result.documents) - _SPREAD
        lines.append(f"[{', '.join(named)}{f', and {more:,} more' if more > 0 else ''}]")
    return "\n".join(lines)


def page_text(name: str, lines: Sequence[str], start: int, count: int) -> str:
    """Write some lines of a document, at most as many as a page has room for, and how to go on.

    Args:
        name: The document's.
        lines: All of its lines.
        start: The first wanted, from 1.
        count: How many are wanted.
    """
    if start > len(lines):
        return f"[{name} has {plural(len(lines), 'line')}; {start:,} is behind its end.]"
    shown, room = 0, _PAGE
    for line in lines[start - 1 : start - 1 + count]:
        room -= len(line) + 1
        if room < 0:
            break
        shown += 1
    end = start + shown - 1
    head = f"[{_shown(name)}, lines {start}-{end} of {len(lines)}]"
    page: list[PromptPart] = [Quote(text="\n".join(lines[start - 1 : end]), label=head)]
    if end < len(lines):
        page.append(f"[It goes on: start_line={end + 1}.]")
    return "\n".join(with_quotes(page, explained=False))


def list_text(documents: Iterable[Document], folder: str, pattern: str, *, complete: bool) -> str:
    """Write the names and sizes of the documents in a folder that fit a pattern.

    Args:
        documents: All of them.
        folder: What names begin with; "" for all.
        pattern: With `*` and `?`; it has to fit the whole name below `folder`, or the file's own.
        complete: Whether these are all that the folders have.
    """
    inside = f"{folder}/" if folder else ""
    wanted = pattern[:_PATTERN].casefold() or "*"
    found = [
        document
        for document in documents
        if document.name.startswith(inside) and _fits(document.name[len(inside) :], wanted)
    ]
    if not found:
        return f"No documents{f' in {folder}' if folder else ''} fit {pattern[:_PATTERN]!r}."
    lines = [f"{document.name} ({size(document.state.size)})" for document in found[:_NAMES]]
    if (more := len(found) - _NAMES) > 0:
        lines.append(f"[{more:,} more: narrow the pattern or name a folder.]")
    if not complete:
        lines.append("[The folders have more documents than are looked through.]")
    return "\n".join([plural(len(found), "document"), *lines])


def similar_names(name: str, documents: Sequence[Document]) -> list[str]:
    """Return names that somebody may have meant: of such a file elsewhere, or written alike."""
    own = name.rpartition("/")[2].casefold()
    names = [document.name for document in documents]
    same = [each for each in names if each.rpartition("/")[2].casefold() == own]
    return (same or get_close_matches(name, names[:_COMPARED], cutoff=0.6))[:3]


def _shown(name: str) -> str:
    # The model calls documents by these names: only what would end the line is taken out.
    return one_line(name, 500)


def _fits(path: str, pattern: str) -> bool:
    folded = path.casefold()
    return fnmatchcase(folded, pattern) or fnmatchcase(folded.rpartition("/")[2], pattern)


def _not_searched(result: SearchResult) -> list[str]:
    notes: list[str] = []
    if result.unread:
        notes.append(f"[{plural(len(result.unread), 'file')} can't be read: {_why(result.unread)}]")
    if result.left_out:
        notes.append(f"[{plural(result.left_out, 'document')} more than fit into the index.]")
    if not result.complete:
        notes.append("[The folders have more documents than are searched.]")
    return notes


def _why(unread: Mapping[str, str]) -> str:
    shown = [one_line(reason, 200) for reason in list(unread.values())[:_UNREAD_SHOWN]]
    return " ".join([*shown, *(["…"] if len(unread) > _UNREAD_SHOWN else [])])
