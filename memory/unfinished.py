"""What an unfinished forgetting has left: every file that may still have what was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .unfinished_mark import read_mark

if TYPE_CHECKING:
    from .store import Place, Store

__all__ = ["FINISH", "Unfinished", "find_unfinished", "void_files"]

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
