"""The pattern and word files, read."""

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
    """What a data folder holds, and what is wrong with it.

    The patterns stand in the order of their texts, whatever files hold them.
    """

    lists: Mapping[str, WordList]
    patterns: tuple[Pattern, ...]
    errors: tuple[InputError, ...]


@cache
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns that the package ships, in the order of their texts.

    Raises:
        InputError: A line of a file breaks a rule.
    """
    corpus = read_corpus(resources.files((__package__ or "").rpartition(".")[0]))
    if corpus.errors:
        raise corpus.errors[0]
    return corpus.patterns


def read_corpus(folder: Traversable) -> Corpus:
    """Read what `words` and `patterns` hold, folders inside them too; errors are gathered."""
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
    # A seed draws by place, and moving a block to another file must not change what it draws.
    blocks.sort(key=lambda block: block.text)
    return Corpus(lists, tuple(blocks), tuple(errors))


_T = TypeVar("_T")


def _good(found: Iterable[_T | InputError], errors: list[InputError]) -> Iterator[_T]:
    for item in found:
        if isinstance(item, InputError):
            errors.append(item)
        else:
            yield item


def _texts(folder: Traversable, kind: str, errors: list[InputError]) -> Iterator[tuple[str, str]]:
    """Yield each file's name and text, the name as `patterns/chain/home.txt`."""
    place = folder / kind
    if not place.is_dir():
        errors.append(InputError(f"There is no folder {place}.", "Install the package again."))
        return
    for name, file in _files(place, kind):
        try:
            yield name, file.read_text("utf-8")
        except UnicodeDecodeError:
            errors.append(InputError(f"{name} is not UTF-8 text.", "Save it as UTF-8."))


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the text files of a folder and of those inside it, by name.

    Folders are listed in no certain order.
    """
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _files(item, f"{name}/{item.name}")
        elif item.name.endswith(".txt"):
            yield f"{name}/{item.name}", item
