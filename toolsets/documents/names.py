"""What documents are called: by their path below a folder, and nothing leads out of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from ...errors import InputError

__all__ = ["MAX_DEPTH", "folder_labels", "is_shown", "parts_of"]

MAX_DEPTH = 32
"""Folders in folders that are looked into."""
_MAX_PART = 255
# Control characters, those that set the direction of writing, and halves of characters: such a name
# could look like other lines of an answer, or can't be written at all.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def is_shown(part: str) -> bool:
    """Say whether a file or folder of that name is a document, or may have some: hidden ones
    aren't, nor those whose name can't be written in a line.
    """
    return bool(part) and not part.startswith(".") and _UNSAFE.search(part) is None


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a document's or a folder's name, from the folder that was given.

    Raises:
        InputError: It isn't a name below a folder: absolute, with `..`, hidden, or too long.
    """
    parts = tuple(part for part in name.strip().removesuffix("/").split("/") if part != ".")
    if name.strip().startswith("/") or ".." in parts:
        raise InputError(f"{name!r} leads out of the folders.", "Use a name that list shows.")
    if not parts or not all(map(is_shown, parts)):
        raise InputError(f"{name!r} names no document.", "Use a name that list shows.")
    if len(parts) > MAX_DEPTH or any(len(part.encode()) > _MAX_PART for part in parts):
        raise InputError("The name is too long.", "Use a name that list shows.")
    return parts


def folder_labels(folders: Sequence[PurePath]) -> tuple[str, ...]:
    """Return what documents' names begin with: nothing for a single folder, else its own name.

    Folders of one name are numbered.
    """
    if len(folders) == 1:
        return ("",)
    taken: list[str] = []
    for folder in folders:
        name = _UNSAFE.sub("_", folder.name).lstrip(".") or "folder"
        label, number = name, 2
        while label in taken:
            label, number = f"{name}-{number}", number + 1
        taken.append(label)
    return tuple(taken)
