"""Writing an HTML document to where a person wants it."""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ...files import READABLE, storage_error, write_atomically

__all__ = ["write_html"]


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
