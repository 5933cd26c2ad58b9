"""Files that a command writes where a person wants them: `--output DIR`, and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import InputError, StorageError
from ...files import READABLE, file_problem, storage_error, write_atomically

__all__ = ["check_folder", "write_folder", "write_html"]


def write_html(path: Path, document: str) -> None:
    """Write a document to a file, whole or not at all.

    Raises:
        InputError: It is a folder, or lies in one that isn't there.
        StorageError: It can't be written.
    """
    if path.is_dir():
        raise InputError(f"--html got {path}, which is a folder.", "Give a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"--html got {path}, in a folder that isn't there.", "Make the folder.")
    data = document.encode()
    try:
        write_atomically(path, data, mode=READABLE)
    except OSError as error:
        raise storage_error(path, len(data), error) from None


def check_folder(folder: Path) -> None:
    """Refuse a folder that has files already: nothing of somebody else's is written over.

    Raises:
        InputError: It is not a folder, has something in it, or can't be read.
    """
    try:
        taken = folder.exists() and any(folder.iterdir())
    except NotADirectoryError:
        raise InputError(f"The output {folder} is not a folder.", "Give a folder.") from None
    except OSError as error:
        raise file_problem(f"output {folder}", error) from None
    if taken:
        raise InputError(
            f"The output {folder} is a folder with files in it.", "Give a new or an empty one."
        )


def write_folder(folder: Path, files: Mapping[str, bytes], run_id: str) -> None:
    """Write files into a folder, each whole or not at all; if one can't be, none stays.

    Args:
        folder: Where to; it is made if need be.
        files: What they hold, by their paths in it.
        run_id: The run that they are of, for errors.

    Raises:
        InputError: Something was put into the folder meanwhile.
        StorageError: One can't be written.
    """
    check_folder(folder)
    written: list[Path] = []
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content, mode=READABLE)
            written.append(path)
    except OSError as error:
        _remove(folder, written)
        raise StorageError(
            f"The output {folder} can't be written: {error.strerror or error}.",
            f"The run is kept, and what it made: prefect-swarm inspect {run_id}, or its folder "
            f"{run_id}/outputs where runs lie.",
        ) from error


def _remove(folder: Path, written: Sequence[Path]) -> None:
    """Remove what was written, with the folders that it was put into."""
    for path in written:
        path.unlink(missing_ok=True)
    for path in written:
        for parent in path.relative_to(folder).parents:
            with suppress(OSError):
                (folder / parent).rmdir()
