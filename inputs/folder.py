"""The files of a folder that is given as an input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import InputError
from ..text_files import file_problem
from .limits import MAX_FILES

__all__ = ["files_in"]


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
