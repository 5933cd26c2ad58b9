"""A forgetting that has not ended: its mark, and every file that may still hold something of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from ..errors import MemoryStoreError
from ..files import make_folder, write_atomically
from ..frozen import Frozen
from ..untrusted.folder import read_file

if TYPE_CHECKING:
    from .store import Place, Store

__all__ = [
    "FINISH",
    "NAME",
    "ForgettingMark",
    "Unfinished",
    "clear_mark",
    "find_unfinished",
    "read_mark",
    "void_files",
    "write_mark",
]


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


FINISH = "When no other process reads the memory any more, finish it: prefect-swarm memory vacuum"
_AGAIN = "Make the same call again: prefect-swarm memory forget …"
_DATABASES = ("episodes.sqlite", "personas.sqlite")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A forgetting that isn't finished.

    Attributes:
        files: Files and folders that may still have what was forgotten.
        killed: Whether it was ended before all rows were known to be removed.
    """

    files: tuple[str, ...]
    killed: bool = False

    @property
    def problem(self) -> str:
        """What is left, in a sentence."""
        what = "A forgetting was ended in its middle" if self.killed else "A forgetting isn't over"
        return f"{what}: what was forgotten may still be in {', '.join(self.files)}."

    @property
    def advice(self) -> str:
        """What finishes it."""
        return _AGAIN if self.killed else FINISH


def find_unfinished(store: Store) -> Unfinished | None:
    """Say what an earlier forgetting has left; None if nothing.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    mark = read_mark(store.place.folder)
    forgotten = store.log.forgotten()
    files = void_files(store.place.folder, forgotten, doubtful=mark is not None)
    if mark is None:
        return Unfinished(tuple(files)) if files else None
    known = mark.files or _databases(store.place)
    named = [name for name in known if Path(name).exists()]
    return Unfinished(tuple(dict.fromkeys([*named, *files])), killed=mark.stage == "rows")


def void_files(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[str]:
    """Return what was derived from the log before the last forgetting, and is still on the disk.

    Args:
        folder: The memory's folder.
        forgotten: The log's number.
        doubtful: What doesn't say what it was derived from, too.
    """
    from .index.generation_store import void_generations
    from .learning.storage import void_beliefs

    generations = void_generations(folder, forgotten, doubtful=doubtful)
    beliefs = void_beliefs(folder, forgotten, doubtful=doubtful)
    return [str(path) for path in (*generations, *beliefs)]


def _databases(place: Place) -> list[str]:
    names = _DATABASES[1:] if place.dsn else _DATABASES
    return [str(place.folder / f"{name}{end}") for name in names for end in ("", "-wal")]
