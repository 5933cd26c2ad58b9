"""Names that are read back from files: each is one part of a path, and leads nowhere else. Pure."""

from __future__ import annotations

import errno
import os
from typing import Annotated

from pydantic import AfterValidator

from .errors import UnsafeFileError

__all__ = ["PlainName", "is_plain_name", "parts_of"]

_MOST_BYTES = 255
_MOST_PARTS = 40
_SHOWN = 80


def is_plain_name(name: str) -> bool:
    """Say whether a text can be a file's name in its folder: no path, and no name of a folder."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    try:
        return len(os.fsencode(name)) <= _MOST_BYTES
    except UnicodeEncodeError:  # It has half of a character.
        return False


def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of a file's path below a folder.

    Raises:
        UnsafeFileError: It leads out of the folder, or is no path of a file in it.
    """
    parts = tuple(name.split("/"))
    if len(parts) > _MOST_PARTS or not all(map(is_plain_name, parts)):
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
        raise UnsafeFileError(errno.EINVAL, f"{shown!a} is no path of a file in the folder")
    return parts


def _plain(name: str) -> str:
    if not is_plain_name(name):
        raise ValueError("it can't be the name of a file")
    return name


PlainName = Annotated[str, AfterValidator(_plain)]
"""A text that a file may be named after."""
