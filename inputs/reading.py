"""Reading the files that a run is given, all of them before any model is asked."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from ..errors import InputError
from ..files import file_problem
from ..text import whole_characters
from .contents import (
    MAX_FILE_BYTES,
    MAX_FILES,
    check_total,
    input_names,
    name_problem,
    plain_name,
    size,
    texts_of,
)
from .folders import FoundFile, UnusableFile, find_files, left_out_line
from .pictures import bytes_of, is_data_uri, read_data_uri
from .storage_paths import is_storage_path

__all__ = [
    "FilesRead",
    "Inputs",
    "PictureData",
    "check_inputs",
    "joined_reads",
    "merged_inputs",
    "named_texts",
    "read_file",
    "read_files",
    "read_inputs",
    "read_paths",
    "reading_notes",
    "split_inputs",
    "split_paths",
]


_logger = logging.getLogger("prefect_swarm.inputs")


@runtime_checkable
class PictureData(Protocol):
    """A picture in memory, as pydantic-ai's `BinaryContent` is one."""

    data: bytes
    media_type: str


Inputs = Mapping[str, str | Path | PictureData] | Iterable[str | Path]
"""What Python code gives: texts, pictures, and files as paths, by name; or paths of files and
folders, also of storage blocks, and patterns, of which those that begin with `!` exclude."""


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Files that were read.

    Attributes:
        texts: Texts by name, in the order given.
        left_out: A line that says what was left out of folders, and why; "" if nothing was.
        unused: Excluding patterns that fit nothing.
    """

    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: str = ""
    unused: tuple[str, ...] = ()


def reading_notes(*reads: FilesRead) -> list[str]:
    """Say what was left out, and which excluding pattern fits nothing, a line each."""
    lines = [read.left_out for read in reads if read.left_out]
    unused = set[str].intersection(*(set(read.unused) for read in reads))
    lines += [f"Nothing was left out for {each!r}: it fits no file." for each in sorted(unused)]
    return [*dict.fromkeys(lines)]


def read_files(
    paths: Iterable[str | Path],
    exclude: Sequence[str] = (),
    called: Callable[[str], str] = str,
) -> FilesRead:
    """Read files, all files of folders, and those that patterns fit; each counts once.

    A file is named by its path from the folder that was given, or by its own name; where several
    have that, with more of the folders before it. What lies in a folder and is empty, binary or
    otherwise nothing that a model can be given is left out; what was named itself is an error then.

    Args:
        paths: The paths and patterns, as `find_files` takes them.
        exclude: Patterns of what isn't taken.
        called: What to call a file that is left out, of its path.

    Raises:
        InputError: One can't be read or is nothing that a model can be given, nothing is found, or
            they are too many or too large.
    """
    found = find_files(paths, exclude)
    read: dict[FoundFile, Mapping[str, str]] = {}
    left_out = [UnusableFile(called(each.path), each.why) for each in found.left_out]
    total = pictures = 0
    for file in found.files:
        try:
            texts = read_file(file.path)
        except InputError as error:
            if file.is_named:
                raise
            left_out.append(UnusableFile(called(str(file.path)), _why(error, file.path)))
            continue
        read[file] = texts
        for words, shown in map(bytes_of, texts.values()):
            total, pictures = total + words, pictures + shown
        check_total(total, pictures)
        _check_count(len(read), len(found.files))
    line = left_out_line(left_out, len(read) + len(left_out)) if left_out else ""
    if line and not read:
        raise InputError(f"None of these files can be given. {line}", "Give other files.")
    named: dict[str, str] = {}
    names = input_names([file.place for file in read], [file.depth for file in read])
    for name, texts in zip(names, read.values(), strict=True):
        named |= named_texts(name, texts)
    return FilesRead(named, line, found.unused)


def read_paths(paths: Iterable[str | Path]) -> dict[str, str]:
    """Read files as `read_files` does; what is left out is logged.

    Raises:
        InputError: As `read_files` says.
    """
    read = read_files(paths)
    for note in reading_notes(read):
        _logger.warning("%s", note)
    return dict(read.texts)


def _check_count(count: int, found: int) -> None:
    if count > MAX_FILES:
        raise InputError(
            f"{found:,} files were given, and a run takes {MAX_FILES:,}.",
            "Give fewer: a pattern such as 'src/**/*.py' takes some of a folder, --exclude leaves "
            "some out. The toolset documents searches more: --documents FOLDER.",
        )


def _why(error: InputError, path: Path) -> str:
    return error.problem.removeprefix(f"The input {path} ").removesuffix(".")


def read_inputs(supplied: Inputs) -> dict[str, str]:
    """Read what Python code gives.

    Raises:
        InputError: As `read_paths` and `check_inputs` say.
    """
    if isinstance(supplied, str | Path):
        return read_paths([supplied])
    if not isinstance(supplied, Mapping):
        return read_paths(supplied)
    by_name = cast("Mapping[str, str | Path | PictureData]", supplied)
    texts: dict[str, str] = {}
    for name, value in by_name.items():
        texts |= _given(name, value)
    check_inputs(texts)
    return texts


def split_inputs(supplied: Inputs | None) -> tuple[Inputs | None, list[str]]:
    """Return what Python code gives without the paths in storages, and these.

    Patterns that exclude are in both. None stands for nothing.
    """
    if supplied is None:
        return None, []
    if isinstance(supplied, str | Path):
        paths: list[str | Path] = [supplied]
    elif isinstance(supplied, Mapping):
        return cast("Inputs", supplied), []
    else:
        paths = [*supplied]
    local, stored = split_paths(paths)
    return local or None, stored


def split_paths(paths: Iterable[str | Path]) -> tuple[list[str | Path], list[str]]:
    """Return paths of local files, and those in storages; each with the patterns that exclude.

    What exists under that very name is a local file.
    """
    local: list[str | Path] = []
    stored: list[str] = []
    excluding: list[str] = []
    for path in paths:
        if isinstance(path, str) and path.startswith("!"):
            excluding.append(path)
        elif isinstance(path, str) and is_storage_path(path) and not os.path.lexists(path):
            stored.append(path)
        else:
            local.append(path)
    if not stored:
        return [*local, *excluding], []
    return [*local, *excluding] if local else [], [*stored, *excluding]


def joined_reads(first: FilesRead, second: FilesRead) -> FilesRead:
    """Return what two reads of files gave, as one.

    Raises:
        InputError: Both have a name, or together they are too much.
    """
    texts = merged_inputs(first.texts, second.texts)
    left_out = " ".join(filter(None, (first.left_out, second.left_out)))
    unused = tuple(each for each in first.unused if each in second.unused)
    return FilesRead(texts, left_out, unused)


def _given(name: str, value: str | Path | PictureData) -> dict[str, str]:
    match value:
        case str():
            return {name: _text(name, value)}
        case Path():
            return named_texts(name, read_file(value))
        case _:
            return named_texts(name, texts_of(value.data, name))


def _text(name: str, text: str) -> str:
    """Return a text that is given by name, with whole characters; a picture as models see it."""
    text = whole_characters(text)
    return read_data_uri(text, f"input {name}") if is_data_uri(text) else text


def named_texts(name: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a file by names of inputs: those of a workbook have its sheets' names.

    Args:
        name: The file's.
        texts: As `texts_of` has them.
    """
    if "" in texts:
        return {name: texts[""]}
    found: dict[str, str] = {}
    for part, text in texts.items():
        found[plain_name(f"{name}/{part.replace('/', '_')}.csv", found)] = text
    return found


def check_inputs(inputs: Mapping[str, str]) -> None:
    """Check texts that are given by name.

    Raises:
        InputError: A name can't be used, a text is empty, or they are too many or too large.
    """
    for name, text in inputs.items():
        if problem := name_problem(name):
            raise InputError(f"The input's name {name!r} {problem}.", "Give it another name.")
        if not text.strip():
            raise InputError(f"The input {name} is empty.", "Leave it out.")
    if len(inputs) > MAX_FILES:
        raise InputError(
            f"{len(inputs):,} inputs were given, and a run takes {MAX_FILES:,}.", "Give fewer."
        )
    sizes = [bytes_of(text) for text in inputs.values()]
    check_total(sum(words for words, _ in sizes), sum(shown for _, shown in sizes))


def merged_inputs(*given: Mapping[str, str]) -> dict[str, str]:
    """Return the texts, by name, of several that give some, checked as a whole.

    Raises:
        InputError: Two have a name, or as `check_inputs` says.
    """
    texts: dict[str, str] = {}
    for each in given:
        if twice := sorted(texts.keys() & each.keys()):
            raise InputError(f"The input {twice[0]} is given twice.", "Give it once.")
        texts |= {name: _text(name, text) for name, text in each.items()}
    check_inputs(texts)
    return texts


def read_file(path: Path) -> dict[str, str]:
    """Return the texts of a file, as `texts_of` has them.

    Its size is looked at first: no byte of a file that is too large is read.

    Raises:
        InputError: It can't be read, is not a plain file or too large, or is nothing that a model
            can be given.
    """
    name = f"input {path}"
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode):
            _check_size(found.st_size, name)
            with path.open("rb") as file:
                # It may grow while it is read.
                data = file.read(MAX_FILE_BYTES + 1)
            _check_size(len(data), name)
            return texts_of(data, str(path))
    except (OSError, ValueError) as error:
        raise file_problem(name, error) from None
    kind = "folder" if stat.S_ISDIR(found.st_mode) else "pipe or a device"
    raise InputError(f"The {name} is a {kind}.", "Give a file; save what it has to say in one.")


def _check_size(count: int, name: str) -> None:
    if count > MAX_FILE_BYTES:
        raise InputError(
            f"The {name} has {size(count)}, and a file may have {size(MAX_FILE_BYTES)}.",
            "Give only the part that is needed.",
        )
