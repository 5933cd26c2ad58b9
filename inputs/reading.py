"""Reading the files that a run is given, all of them before any model is asked."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ..errors import InputError
from ..files import file_problem
from ..text import whole_characters
from .contents import (
    MAX_FILE_BYTES,
    MAX_FILES,
    check_total,
    input_names,
    name_problem,
    size,
    text_of,
)
from .folders import FoundFile, UnusableFile, find_files, left_out_line

__all__ = [
    "FilesRead",
    "Inputs",
    "check_inputs",
    "merged_inputs",
    "read_file",
    "read_files",
    "read_inputs",
    "read_paths",
    "reading_notes",
]


_logger = logging.getLogger("prefect_swarm.inputs")

Inputs = Mapping[str, str | Path] | Iterable[str | Path]
"""What Python code gives: texts, and files as paths, by name; or paths of files and folders, and
patterns, of which those that begin with `!` exclude."""


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


def read_files(paths: Iterable[str | Path], exclude: Sequence[str] = ()) -> FilesRead:
    """Read files, all files of folders, and those that patterns fit; each counts once.

    A file is named by its path from the folder that was given, or by its own name; where several
    have that, with more of the folders before it. What lies in a folder and is empty, binary or
    otherwise nothing that a model can be given is left out; what was named itself is an error then.

    Args:
        paths: The paths and patterns, as `find_files` takes them.
        exclude: Patterns of what isn't taken.

    Raises:
        InputError: One can't be read or is nothing that a model can be given, nothing is found, or
            they are too many or too large.
    """
    found = find_files(paths, exclude)
    texts: dict[FoundFile, str] = {}
    left_out = [*found.left_out]
    total = 0
    for file in found.files:
        try:
            text = read_file(file.path)
        except InputError as error:
            if file.is_named:
                raise
            left_out.append(UnusableFile(str(file.path), _why(error, file.path)))
            continue
        texts[file] = text
        total += len(text.encode())
        check_total(total)
        _check_count(len(texts), len(found.files))
    line = left_out_line(left_out, len(texts) + len(left_out)) if left_out else ""
    if line and not texts:
        raise InputError(f"None of these files can be given. {line}", "Give other files.")
    names = input_names([file.place for file in texts], [file.depth for file in texts])
    return FilesRead(dict(zip(names, texts.values(), strict=True)), line, found.unused)


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
    by_name = cast("Mapping[str, str | Path]", supplied)
    texts = {
        name: whole_characters(value) if isinstance(value, str) else read_file(value)
        for name, value in by_name.items()
    }
    check_inputs(texts)
    return texts


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
    check_total(sum(len(text.encode()) for text in inputs.values()))


def merged_inputs(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return the texts, by name, of two that give some, checked as a whole.

    Raises:
        InputError: Both have a name, or as `check_inputs` says.
    """
    if twice := sorted(first.keys() & second.keys()):
        raise InputError(f"The input {twice[0]} is given twice.", "Give it once.")
    texts = {name: whole_characters(text) for name, text in {**first, **second}.items()}
    check_inputs(texts)
    return texts


def read_file(path: Path) -> str:
    """Return the text of a file.

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
            return text_of(data, str(path))
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
