"""A file that says that a forgetting is under way, and what a process kept from being removed.

It is written before anything is removed and goes when nothing is left, so that a forgetting that
was killed, or beside which another process was reading, is not taken for a finished one.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from ..errors import MemoryStoreError
from ..files import make_folder, write_atomically
from ..frozen import Frozen
from ..untrusted.folder import read_file

__all__ = ["NAME", "ForgettingMark", "clear_mark", "read_mark", "write_mark"]

NAME = "forgetting.json"


class ForgettingMark(Frozen):
    """What is known of a forgetting that isn't finished; nothing of what is forgotten.

    Attributes:
        stage: `rows`: not all rows are known to be removed; `bytes`: they are, and only their
            bytes may be left.
        files: That are known to have such bytes.
    """

    begun_at: float
    stage: Literal["rows", "bytes"] = "rows"
    files: tuple[str, ...] = ()


def read_mark(folder: Path) -> ForgettingMark | None:
    """Return the mark in a memory's folder; None if no forgetting is unfinished."""
    try:
        return ForgettingMark.model_validate_json(read_file(folder / NAME))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        return ForgettingMark(begun_at=0.0)  # It is there, and says nothing better.


def write_mark(folder: Path, mark: ForgettingMark | None = None) -> None:
    """Write that a forgetting is under way.

    Raises:
        MemoryStoreError: It can't be written.
    """
    mark = mark or ForgettingMark(begun_at=time.time())
    try:
        make_folder(folder)
        write_atomically(folder / NAME, mark.model_dump_json())
    except OSError as error:
        raise MemoryStoreError(
            f"{folder / NAME} can't be written: {error}.", "Nothing was removed. Check the disk."
        ) from error


def clear_mark(folder: Path) -> None:
    """Say that no forgetting is unfinished."""
    (folder / NAME).unlink(missing_ok=True)
