"""The pattern and word files, read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """What a data folder holds, and what is wrong with it."""

    lists: Mapping[str, WordList]
    patterns: tuple[Pattern, ...]
    errors: tuple[InputError, ...]


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns that the package ships, in the order of their files' names.

    Raises:
        InputError: A line of a file breaks a rule.
    """
    corpus = read_corpus(resources.files((__package__ or "").rpartition(".")[0]))
    if corpus.errors:
        raise corpus.errors[0]
    return corpus.patterns


def read_corpus(folder: Traversable) -> Corpus:
    """Read `words/*.txt` and `patterns/*.txt` of a folder; errors are gathered, not raised."""
    errors: list[InputError] = []
    lists: dict[str, WordList] = {}
    homes = {COUNT: "the language itself"}
    for name, text in _texts(folder, "words", errors):
        for found in _good(read_lists(text, name), errors):
            if found.name in homes:
                problem = f"{name}: list {found.name} is in {homes[found.name]} already."
                errors.append(InputError(problem, "Rename one of them."))
            else:
                lists[found.name], homes[found.name] = found, name
    blocks: list[Pattern] = []
    for name, text in _texts(folder, "patterns", errors):
        blocks += _good(read_patterns(text, name, lists), errors)
    return Corpus(lists, tuple(blocks), tuple(errors))


_T = TypeVar("_T")


def _good(found: Iterable[_T | InputError], errors: list[InputError]) -> Iterator[_T]:
    for item in found:
        if isinstance(item, InputError):
            errors.append(item)
        else:
            yield item


def _texts(folder: Traversable, kind: str, errors: list[InputError]) -> Iterator[tuple[str, str]]:
    """Yield each file's name and text, by name: folders are listed in no certain order."""
    place = folder / kind
    if not place.is_dir():
        errors.append(InputError(f"There is no folder {place}.", "Install the package again."))
        return
    files: Sequence[Traversable] = sorted(place.iterdir(), key=lambda file: file.name)
    for file in files:
        if file.name.endswith(".txt"):
            try:
                yield f"{kind}/{file.name}", file.read_text("utf-8")
            except UnicodeDecodeError:
                errors.append(InputError(f"{kind}/{file.name} is no UTF-8 text.", "Save it anew."))
