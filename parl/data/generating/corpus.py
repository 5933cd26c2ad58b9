"""Read the pattern and word files of a data folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TypeVar

from ....errors import InputError
from ..parsing.blocks import read_patterns
from ..parsing.lists import WordList, read_lists
from ..parsing.pattern import Pattern
from ..parsing.variables import COUNT

__all__ = ["Corpus", "patterns", "read_corpus"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Word lists and patterns of a data folder, and the errors in its files.

    The patterns are sorted by their texts, whatever files they are in.
    """

    lists: Mapping[str, WordList]
    patterns: tuple[Pattern, ...]
    errors: tuple[InputError, ...]


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns that the package ships, sorted by their texts.

    Raises:
        InputError: A line of a file breaks a rule.
    """
    corpus = read_corpus(resources.files((__package__ or "").rpartition(".")[0]))
    if corpus.errors:
        raise corpus.errors[0]
    return corpus.patterns


def read_corpus(folder: Traversable) -> Corpus:
    """Read `words` and `patterns` with their subfolders; errors are collected, not raised."""
    errors: list[InputError] = []
    lists: dict[str, WordList] = {}
    file_of = {COUNT: "the language itself"}
    for name, text in _read_texts(folder, "words", errors):
        for word_list in _collect_errors(read_lists(text, name), errors):
            if word_list.name in file_of:
                problem = f"{name}: list {word_list.name} is in {file_of[word_list.name]} already."
                errors.append(InputError(problem, "Rename one of them."))
            else:
                lists[word_list.name], file_of[word_list.name] = word_list, name
    blocks: list[Pattern] = []
    for name, text in _read_texts(folder, "patterns", errors):
        blocks += _collect_errors(read_patterns(text, name, lists), errors)
    # A seed draws by index: moving a block to another file must not change what it draws.
    blocks.sort(key=lambda block: block.text)
    return Corpus(lists, tuple(blocks), tuple(errors))


_T = TypeVar("_T")


def _collect_errors(items: Iterable[_T | InputError], errors: list[InputError]) -> Iterator[_T]:
    for item in items:
        if isinstance(item, InputError):
            errors.append(item)
        else:
            yield item


def _read_texts(
    folder: Traversable, kind: str, errors: list[InputError]
) -> Iterator[tuple[str, str]]:
    """Yield each file's name, such as `patterns/chain/home.txt`, and its text."""
    place = folder / kind
    if not place.is_dir():
        errors.append(InputError(f"There is no folder {place}.", "Install the package again."))
        return
    for name, file in _text_files(place, kind):
        try:
            yield name, file.read_text("utf-8")
        except UnicodeDecodeError:
            errors.append(InputError(f"{name} is not UTF-8 text.", "Save it as UTF-8."))


def _text_files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the text files of a folder and its subfolders, sorted by name."""
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _text_files(item, f"{name}/{item.name}")
        elif item.name.endswith(".txt"):
            yield f"{name}/{item.name}", item
