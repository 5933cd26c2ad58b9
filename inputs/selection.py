"""Selections: which files of a folder are taken, by patterns over their paths. Pure.

`*` stands for any characters of a name, `?` for one, `[ab]` for one of these, and `**` for any
number of folders. Capital letters count. Names that begin with a dot are never taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..errors import InputError

__all__ = ["FileSelection", "has_wildcard", "path_excludes", "split_pattern"]

_ANY_FOLDERS = "**"
_WITHOUT_DOCUMENTS = frozenset({"__pycache__", "node_modules"})
"""Folders that hold what programs made or installed; one that is named itself is read."""


def has_wildcard(text: str) -> bool:
    """Say whether a path is a pattern."""
    return any(mark in text for mark in "*?[")


def split_pattern(pattern: str) -> tuple[str, str]:
    """Return the folder that a pattern begins with, and the rest: `("src", "**/*.py")`.

    The folder is "." where the first part has a wildcard, and "/" at the root.
    """
    parts = pattern.split("/")
    first = next((n for n, part in enumerate(parts) if has_wildcard(part)), len(parts))
    root = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    return root, "/".join(parts[first:])


def path_excludes(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return paths without those that begin with `!`, and the patterns behind that.

    Raises:
        InputError: Nothing stands behind one.
    """
    taken: list[str] = []
    excluded: list[str] = []
    for path in paths:
        if not path.startswith("!"):
            taken.append(path)
        elif path[1:].strip("/. "):
            excluded.append(path[1:])
        else:
            raise InputError(f"{path!r} excludes nothing.", "Write a pattern, as in !*.log.")
    return taken, excluded


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Which files of a folder are taken.

    Attributes:
        folder: The folder's path as it was given: an excluding pattern may begin with it.
        patterns: A path from the folder has to fit one of them; without any, each is taken.
        exclude: What isn't taken. A pattern without a slash fits a file or folder of that name at
            any depth; one with a slash fits a path from the folder. What is in a folder that one
            fits isn't taken either.
    """

    folder: str = ""
    patterns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, path: Sequence[str]) -> bool:
        """Say whether a file is taken; `path` is its parts from the folder."""
        if self.excluded_by(path) or any(map(_is_passed_over, path[:-1])):
            return False
        if path[-1].startswith("."):
            return False
        return not self.patterns or any(_fits(_parts(each), path) for each in self.patterns)

    def enters(self, path: Sequence[str]) -> bool:
        """Say whether a folder may have files that are taken."""
        if self.excluded_by(path) or any(map(_is_passed_over, path)):
            return False
        return not self.patterns or any(_leads(_parts(each), path) for each in self.patterns)

    def excluded_by(self, path: Sequence[str]) -> str | None:
        """Return the pattern that a file or folder isn't taken for; None if there is none."""
        whole = [*_parts(self.folder), *path]
        return next((each for each in self.exclude if _excludes(_parts(each), path, whole)), None)


def _is_passed_over(folder: str) -> bool:
    return folder.startswith(".") or folder in _WITHOUT_DOCUMENTS


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _excludes(pattern: Sequence[str], path: Sequence[str], whole: Sequence[str]) -> bool:
    if len(pattern) == 1:
        return any(fnmatchcase(part, pattern[0]) for part in path)
    ends = range(1, len(path) + 1)
    before = len(whole) - len(path)
    return any(_fits(pattern, path[:n]) or _fits(pattern, whole[: before + n]) for n in ends)


def _fits(pattern: Sequence[str], path: Sequence[str]) -> bool:
    return len(pattern) in _reached(pattern, path)


def _leads(pattern: Sequence[str], folder: Sequence[str]) -> bool:
    return any(place < len(pattern) for place in _reached(pattern, folder))


def _reached(pattern: Sequence[str], path: Sequence[str]) -> set[int]:
    """Return how many parts of a pattern a path can have used up; none if it doesn't fit."""
    places = _with_none(pattern, {0})
    for part in path:
        after: set[int] = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == _ANY_FOLDERS:
                after.add(place)
            elif fnmatchcase(part, pattern[place]):
                after.add(place + 1)
        places = _with_none(pattern, after)
    return places


def _with_none(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Add the places behind each `**`, which stands for no folder as well."""
    found = set(places)
    for place in range(len(pattern)):
        if place in found and pattern[place] == _ANY_FOLDERS:
            found.add(place + 1)
    return found
