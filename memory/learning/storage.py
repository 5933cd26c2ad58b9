"""Beliefs in a file, so that a new process needn't read the whole log again."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ...errors import MemoryStoreError
from ...files import make_folder, write_atomically
from ...untrusted.folder import read_file
from ..log.rows import read_batches
from ..protocols import EpisodeLog
from .beliefs import Beliefs
from .config import DEFAULTS

__all__ = ["catch_up", "clear_beliefs", "read_beliefs", "void_beliefs", "write_beliefs"]

_FOLDER = "beliefs"


class _StoredBeliefs(BaseModel):
    """`forgotten` is the log's number at the time; under another number beliefs are void."""

    model_config = ConfigDict(extra="forbid")

    forgotten: int
    beliefs: Beliefs


def catch_up(log: EpisodeLog, beliefs: Beliefs) -> Beliefs:
    """Learn, in place, from all later entries of the log.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    for entries in read_batches(log, beliefs.position):
        for entry in entries:
            beliefs.learn(entry)
    return beliefs


def read_beliefs(folder: Path, namespace: str, forgotten: int) -> Beliefs:
    """Return the stored beliefs; new ones if they are missing, void or damaged."""
    try:
        kept = _StoredBeliefs.model_validate_json(read_file(_path(folder, namespace)))
    except (OSError, ValidationError):
        # They follow from the log, which is read again.
        return Beliefs(namespace=namespace)
    fresh = kept.forgotten == forgotten and kept.beliefs.config == DEFAULTS
    return kept.beliefs if fresh else Beliefs(namespace=namespace)


def write_beliefs(folder: Path, beliefs: Beliefs, forgotten: int) -> None:
    """Store beliefs, atomically.

    Raises:
        MemoryStoreError: The file can't be written.
    """
    path = _path(folder, beliefs.namespace)
    try:
        make_folder(path.parent)
        kept = _StoredBeliefs(forgotten=forgotten, beliefs=beliefs)
        write_atomically(path, kept.model_dump_json())
    except OSError as error:
        raise MemoryStoreError(
            f"What was learned can't be written to {path}: {error}.",
            "Free disk space, or check the permissions.",
        ) from error


def clear_beliefs(folder: Path) -> None:
    """Remove all stored beliefs."""
    for path in (folder / _FOLDER).glob("*"):
        path.unlink(missing_ok=True)


def void_beliefs(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[Path]:
    """Return the files of beliefs that follow from what was forgotten; see `void_generations`."""
    numbers = {path: _forgotten_of(path) for path in sorted((folder / _FOLDER).glob("*"))}
    return [
        path
        for path, number in numbers.items()
        if number != forgotten and (doubtful or number is not None)
    ]


def _forgotten_of(path: Path) -> int | None:
    try:
        return _StoredBeliefs.model_validate_json(read_file(path)).forgotten
    except (OSError, ValidationError):
        return None


def _path(folder: Path, namespace: str) -> Path:
    return folder / _FOLDER / f"{hashlib.sha256(namespace.encode()).hexdigest()[:16]}.json"
