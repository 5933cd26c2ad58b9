"""Reading the files that a run is given, all of them before any model is asked."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
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
from .pictures import bytes_of, is_data_uri, read_data_uri

__all__ = [
    "Inputs",
    "PictureData",
    "check_inputs",
    "files_in",
    "merged_inputs",
    "named_texts",
    "read_file",
    "read_inputs",
    "read_paths",
]


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder and of those in it, sorted; hidden ones are left out.

    A link to a file in the folder counts as a file. A link to a folder in it is not followed, since
    what is there is found anyway.

    Raises:
        InputError: A link leads out of the folder or nowhere, there is nothing to read, there are
            too many files, or a folder can't be read.
    """
    root = folder.resolve()
    found: list[Path] = []
    for path in _walk(folder, root):
        found.append(path)
        if len(found) > MAX_FILES:
            raise InputError(
                f"The folder {folder} has more than {MAX_FILES} files.",
                "Give a smaller folder, or the files that are needed.",
            )
    if not found:
        raise InputError(
            f"The folder {folder} has no files that can be given; hidden ones are left out.",
            "Give a folder with files in it.",
        )
    return found


def _walk(folder: Path, root: Path) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise file_problem(f"folder {folder}", error) from None
    for path in entries:
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            _check_link(path, root)
        if not path.is_dir():
            yield path
        elif not path.is_symlink():
            yield from _walk(path, root)


def _check_link(path: Path, root: Path) -> None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        # A circle of links is the second.
        raise InputError(f"The link {path} leads nowhere.", "Remove it, or mend it.") from None
    if not target.is_relative_to(root):
        raise InputError(
            f"The link {path} leads out of the folder that was given, to {target}.",
            f"Remove it, or give {target} itself.",
        )


@runtime_checkable
class PictureData(Protocol):
    """A picture in memory, as pydantic-ai's `BinaryContent` is one."""

    data: bytes
    media_type: str


Inputs = Mapping[str, str | Path | PictureData] | Iterable[str | Path]
"""What Python code gives: texts, pictures, and files as paths, by name; or paths of files and
folders."""


def read_paths(paths: Iterable[Path]) -> dict[str, str]:
    """Read files, and all files of folders; what is given twice counts once.

    Returns:
        Texts by name, in the order given.

    Raises:
        InputError: One can't be read or is nothing that a model can be given, or they are too many
            or too large.
    """
    files: dict[Path, Path] = {}
    for path in paths:
        for file in files_in(path) if path.is_dir() else [path]:
            files.setdefault(file.resolve(), file)
    if len(files) > MAX_FILES:
        raise InputError(
            f"{len(files)} files were given, and a run takes {MAX_FILES}.", "Give fewer files."
        )
    texts: dict[str, str] = {}
    total = pictures = 0
    for name, file in zip(input_names([*files]), files.values(), strict=True):
        found = named_texts(name, read_file(file))
        for words, shown in map(bytes_of, found.values()):
            total, pictures = total + words, pictures + shown
        check_total(total, pictures)
        texts |= found
    return texts


def read_inputs(supplied: Inputs) -> dict[str, str]:
    """Read what Python code gives.

    Raises:
        InputError: As `read_paths` and `check_inputs` say.
    """
    if isinstance(supplied, str | Path):
        return read_paths([Path(supplied)])
    if not isinstance(supplied, Mapping):
        return read_paths(map(Path, supplied))
    by_name = cast("Mapping[str, str | Path | PictureData]", supplied)
    texts: dict[str, str] = {}
    for name, value in by_name.items():
        texts |= _given(name, value)
    check_inputs(texts)
    return texts


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
            f"{len(inputs)} inputs were given, and a run takes {MAX_FILES}.", "Give fewer."
        )
    sizes = [bytes_of(text) for text in inputs.values()]
    check_total(sum(words for words, _ in sizes), sum(shown for _, shown in sizes))


def merged_inputs(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return the texts, by name, of two that give some, checked as a whole.

    Raises:
        InputError: Both have a name, or as `check_inputs` says.
    """
    if twice := sorted(first.keys() & second.keys()):
        raise InputError(f"The input {twice[0]} is given twice.", "Give it once.")
    texts = {name: _text(name, text) for name, text in {**first, **second}.items()}
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
