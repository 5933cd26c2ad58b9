"""Files that paths, folders and patterns stand for, before one of them is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..files import file_problem
from ..text import one_line, plural
from .selection import FileSelection, has_wildcard, path_excludes, split_pattern

__all__ = [
    "MAX_FOUND",
    "FoundFile",
    "FoundFiles",
    "UnusableFile",
    "find_files",
    "left_out_line",
    "selected_folders",
]

MAX_FOUND = 10_000
"""Files of a folder that are looked at: one with more is likely one that was not meant."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is to be read.

    Attributes:
        path: Its path, as it was given or below the folder that was.
        place: The absolute path of what it is, whatever leads to it; it is named after that.
        depth: How many of the place's last parts its name has at least.
        is_named: Whether it was given itself, and not found in a folder.
    """

    path: Path
    place: Path
    depth: int = 1
    is_named: bool = True


class UnusableFile(NamedTuple):
    """A file of a folder that can't be given, and why, for behind its path."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """What paths stand for.

    Attributes:
        files: Each once, in the order given; those of a folder by name.
        left_out: What lies in folders and leads out of them, or nowhere.
        unused: Excluding patterns that fit nothing.
    """

    files: tuple[FoundFile, ...]
    left_out: tuple[UnusableFile, ...] = ()
    unused: tuple[str, ...] = ()


def find_files(paths: Iterable[str | Path], exclude: Sequence[str] = ()) -> FoundFiles:
    """Find the files that paths of files and folders, and patterns, stand for.

    What exists is no pattern, whatever its name has in it. A link to a file in its folder counts as
    that file; a link to a folder is not followed, since what is there is found anyway.

    Args:
        paths: The paths; a text that begins with `!` is a pattern that excludes.
        exclude: More patterns that exclude, as `FileSelection` has them.

    Raises:
        InputError: A pattern fits no file, a folder can't be read, has no files, or too many.
    """
    texts = [path if isinstance(path, str) else _as_text(path) for path in paths]
    taken, excluded = path_excludes(texts)
    search = _Search((*exclude, *excluded))
    files: dict[Path, FoundFile] = {}
    for text in taken:
        for file in search.found(text):
            files.setdefault(file.place, file)
    unused = [each for each in search.exclude if each not in search.used]
    return FoundFiles((*files.values(),), (*search.left_out,), (*unused,))


def selected_folders(paths: Iterable[str]) -> tuple[tuple[Path, FileSelection], ...]:
    """Return the folders that paths and patterns lead to, resolved, each with what is taken of it.

    Args:
        paths: Paths of folders and files, patterns, and behind `!` patterns that exclude.

    Raises:
        InputError: One excludes nothing.
    """
    taken, excluded = path_excludes(paths)
    found: dict[Path, FileSelection] = {}
    for text in map(_written_out, taken):
        folder, pattern = _folder_and_pattern(text)
        place, patterns = Path(folder).resolve(), (pattern,) if pattern else ()
        before = found.get(place)
        if before is not None and before.patterns and patterns:
            patterns = (*before.patterns, *patterns)
        elif before is not None:
            patterns = ()  # One of them takes all of the folder.
        found[place] = FileSelection(folder, patterns, (*excluded,))
    return (*found.items(),)


def _folder_and_pattern(text: str) -> tuple[str, str]:
    if os.path.isfile(text):
        return os.path.dirname(text) or ".", escape(os.path.basename(text))
    if has_wildcard(text) and not os.path.lexists(text):
        return _split(text)
    return text, ""


def _split(pattern: str) -> tuple[str, str]:
    """Return the folder that a pattern begins with, and the rest.

    Folders that exist are none of a pattern's, whatever their names have in them.
    """
    parts = pattern.split("/")
    ends = [n for n in range(1, len(parts)) if os.path.isdir("/".join(parts[:n]) or "/")]
    folder, rest = split_pattern(pattern)
    if not ends or not os.path.isdir(folder):
        return folder, rest
    return "/".join(parts[: ends[-1]]) or "/", "/".join(parts[ends[-1] :])


def _written_out(text: str) -> str:
    # The shell writes out the home folder of what stands in no quotation marks alone.
    return text if os.path.lexists(text) else os.path.expanduser(text)


def left_out_line(left_out: Sequence[UnusableFile], count: int) -> str:
    """Say in a line which files were left out, and why; the first of them by name.

    Args:
        left_out: They, at least one.
        count: How many files there are with them.
    """
    shown = [f"{one_line(each.path, 100)} {one_line(each.why, 100)}" for each in left_out[:_SHOWN]]
    more = len(left_out) - len(shown)
    shown += [f"and {more:,} more"] if more else []
    return f"Left out {len(left_out):,} of {plural(count, 'file')}: {'; '.join(shown)}."


_SHOWN = 3


def _as_text(path: Path) -> str:
    """Write a path such that it is no pattern that excludes."""
    return f"./{path}" if str(path).startswith("!") else str(path)


class _Search:
    """One look for files; it notes what it leaves out."""

    def __init__(self, exclude: tuple[str, ...]) -> None:
        self.exclude = exclude
        self.used: set[str] = set()
        self.left_out: list[UnusableFile] = []

    def found(self, text: str) -> list[FoundFile]:
        """Return what a path or a pattern stands for."""
        text = _written_out(text)
        if os.path.isdir(text):
            return self._below(Path(text), FileSelection(text, (), self.exclude))
        if os.path.lexists(text) or not has_wildcard(text):
            try:
                return [FoundFile(Path(text), Path(text).resolve())]
            except (OSError, RuntimeError, ValueError) as error:
                raise file_problem(f"input {text}", ValueError(str(error))) from None
        folder, pattern = _split(text)
        found = self._below(Path(folder), FileSelection(folder, (pattern,), self.exclude))
        if not found:
            raise InputError(
                f"The pattern {text} fits no file.",
                "Put it into quotation marks; ** stands for any folders. Hidden files don't count.",
            )
        return found

    def _below(self, folder: Path, selection: FileSelection) -> list[FoundFile]:
        root, before = folder.resolve(), len(self.left_out)
        found: list[FoundFile] = []
        for parts, is_link in self._walk(folder, (), selection):
            file = FoundFile(folder.joinpath(*parts), root.joinpath(*parts), len(parts), False)
            linked = _linked(file.path, root, selection) if is_link else file
            if isinstance(linked, FoundFile):
                found.append(linked)
            elif linked is not None:
                self.left_out.append(linked)
            if len(found) > MAX_FOUND:
                raise InputError(
                    f"The folder {folder} has more than {MAX_FOUND:,} files.",
                    f"Give a pattern such as '{folder}/**/*.md', or exclude what isn't needed.",
                )
        if not found and not selection.patterns and len(self.left_out) == before:
            raise InputError(
                f"The folder {folder} has no files that can be given; hidden ones are left out.",
                "Give a folder with files in it.",
            )
        return found

    def _walk(
        self, folder: Path, parts: tuple[str, ...], selection: FileSelection
    ) -> Iterator[tuple[tuple[str, ...], bool]]:
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            if parts:
                self.left_out.append(UnusableFile(str(folder), f"can't be read: {error.strerror}"))
                return
            raise file_problem(f"folder {folder}", error) from None
        for entry in entries:
            path = (*parts, entry.name)
            if (excluding := selection.excluded_by(path)) is not None:
                self.used.add(excluding)
            elif entry.is_dir(follow_symlinks=False):
                if selection.enters(path):
                    yield from self._walk(folder / entry.name, path, selection)
            elif selection.takes(path):
                yield path, entry.is_symlink()


def _linked(link: Path, root: Path, selection: FileSelection) -> FoundFile | UnusableFile | None:
    """Return the file that a link in a folder leads to; None where that isn't taken by itself."""
    try:
        place = link.resolve(strict=True)
    except (OSError, RuntimeError):
        # A circle of links is the second.
        return UnusableFile(str(link), "is a link that leads nowhere")
    if not place.is_relative_to(root):
        return UnusableFile(str(link), "is a link that leads out of the folder")
    parts = place.relative_to(root).parts
    if place.is_dir() or not replace(selection, patterns=()).takes(parts):
        return None
    return FoundFile(link, place, len(parts), is_named=False)
