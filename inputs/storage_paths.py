"""Paths of files in Prefect's storage blocks: `s3-bucket/reports:tonight/`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import InputError
from ..text import one_line
from ..untrusted.opening import UnsafeFileError, parts_of
from .selection import has_wildcard, split_pattern

__all__ = [
    "STORAGE_FORM",
    "StoragePath",
    "is_storage_path",
    "parse_output_folder",
    "parse_storage_paths",
]


STORAGE_FORM = "TYPE/NAME:PATH, such as s3-bucket/reports:tonight/"
"""How such a path is written, for people."""
# Names of blocks and slugs of their types, as a Prefect server takes them.
_WRITTEN = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)*+)/([a-z0-9-]+):(.*)", re.DOTALL)
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class StoragePath:
    """What a run reads of a storage.

    Attributes:
        block: The slug of the block's type and the block's name: `s3-bucket/reports`.
        path: A file, a folder that ends with a slash, a pattern, or "" for the whole storage.
    """

    block: str
    path: str

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.block}:{self.path}"

    @property
    def folder(self) -> str | None:
        """The folder that is fetched, without a slash at its end; None where it is a file."""
        if has_wildcard(self.path):
            folder, _ = split_pattern(self.path)
            return "" if folder == "." else folder
        return self.path.rstrip("/") if self.path.endswith("/") or not self.path else None


def is_storage_path(text: str) -> bool:
    """Say whether a text is written as the path of something in a storage."""
    return _WRITTEN.fullmatch(text) is not None


def parse_storage_paths(texts: Iterable[str]) -> tuple[StoragePath, ...]:
    """Read paths as they are written, each once.

    Raises:
        InputError: One isn't written so, or leads out of the storage.
    """
    return (*dict.fromkeys(map(_parsed, texts)),)


def _parsed(text: str) -> StoragePath:
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(
            f"{one_line(text, _SHOWN)!r} is no path in a storage block.", f"Write {STORAGE_FORM}."
        )
    kind, name, path = found.groups()
    inner = path.removesuffix("/")
    try:
        if path:
            parts_of(inner)
    except UnsafeFileError:
        raise InputError(
            f"The input {one_line(text, _SHOWN)} has a path that is not one inside the storage.",
            "Write it from the storage's own folder, without '..' and without a slash before it.",
        ) from None
    return StoragePath(f"{kind}/{name}", path)


_IN_OUTPUT = re.compile(r"\{([^{}]*+)\}")


def parse_output_folder(text: str, run: str, date: str) -> StoragePath:
    """Read the folder of a storage that a run's output is written into.

    Args:
        text: As it is written; `{run}` and `{date}` stand for the other arguments.
        run: The run's id.
        date: The day that it was planned for.

    Raises:
        InputError: It isn't written so, leads out of the storage, or is a pattern.
    """
    known = {"run": run, "date": date}
    if other := next((n for n in _IN_OUTPUT.findall(text) if n not in known), None):
        raise InputError(
            f"The output {one_line(text, _SHOWN)} has {{{one_line(other, _SHOWN)}}} in it.",
            "Only {run} and {date} stand for something.",
        )
    folder = _parsed(_IN_OUTPUT.sub(lambda found: known[found[1]], text))
    if has_wildcard(folder.path):
        raise InputError(f"The output {folder} is a pattern.", "Name a folder.")
    return StoragePath(folder.block, folder.path.removesuffix("/"))
