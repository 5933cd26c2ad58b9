"""States of shared beginnings in a folder, for processes to come."""

from __future__ import annotations

import hashlib
import os
import struct
import time
import zlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ....files import make_folder, write_atomically
from ..slots import common_prefix
from .kept import PrefixState

__all__ = ["PrefixFolder"]

_MAGIC = b"SWARMKV1"
_HEADER = struct.Struct("<8sIIQ")
"""Magic, number of tokens, checksum of the state, bytes of the state; tokens and state follow."""
_SUFFIX = ".prefix"
_REMAINS = f".*{_SUFFIX}-*"
"""What a file is called while it is written."""
_WRITING_S = 3600.0
"""No file takes so long to write: what is older was left by a process that was killed."""


class PrefixFolder:
    """The states of one model, served in one way. What can't be read or written counts as absent.

    Several processes may use a folder: files appear whole, and have the names of their tokens.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._known: dict[Path, list[int]] = {}
        self._remove_remains()
        for path in self._paths():
            if tokens := _read_tokens(path):
                self._known[path] = tokens

    def find(self, prompt: Sequence[int]) -> tuple[Path | None, int]:
        """Return the file that has most of a prompt's beginning, and how many tokens of it."""
        best, length = None, 0
        for path, tokens in self._known.items():
            if (common := common_prefix(tokens, prompt)) > length:
                best, length = path, common
        return best, length

    def load(self, path: Path) -> PrefixState | None:
        """Read a state; a file that is damaged is removed."""
        try:
            state = _read(path.read_bytes())
            if state is None:
                path.unlink(missing_ok=True)
            else:
                os.utime(path)
        except OSError:
            state = None
        if state is None:
            self._known.pop(path, None)
        return state

    def write(self, state: PrefixState) -> None:
        """Store a state, and remove those that were not used for longest if it gets too much."""
        size = len(state.data)
        if size > self._most_bytes:
            return
        tokens = array("i", state.tokens).tobytes()
        path = self._folder / f"{hashlib.sha256(tokens).hexdigest()[:32]}{_SUFFIX}"
        header = _HEADER.pack(_MAGIC, len(state.tokens), zlib.crc32(state.data), size)
        try:
            make_folder(self._folder)
            self._make_room(size)
            write_atomically(path, b"".join((header, tokens, state.data)))
        except OSError:
            return
        self._known[path] = state.tokens

    def _make_room(self, size: int) -> None:
        found = sorted(((path.stat(), path) for path in self._paths()), key=_last_use)
        total = size + sum(stat.st_size for stat, _ in found)
        for stat, path in found:
            if total <= self._most_bytes:
                return
            path.unlink(missing_ok=True)
            self._known.pop(path, None)
            total -= stat.st_size

    def _remove_remains(self) -> None:
        """Remove what killed processes were writing; others may be writing now."""
        oldest = time.time() - _WRITING_S
        for path in self._folder.glob(_REMAINS):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()

    def _paths(self) -> list[Path]:
        return [path for path in self._folder.glob(f"*{_SUFFIX}") if path.is_file()]


def _last_use(found: tuple[os.stat_result, Path]) -> tuple[int, str]:
    stat, path = found
    return stat.st_mtime_ns, path.name


class _Header(NamedTuple):
    """Of a whole file: where its state begins, and the state's checksum."""

    state_start: int
    checksum: int


def _header(beginning: bytes, size: int) -> _Header | None:
    """Read the header of a file of so many bytes; None if it isn't whole, or another kind."""
    if len(beginning) < _HEADER.size:
        return None
    magic, count, checksum, state_size = _HEADER.unpack_from(beginning)
    start = _HEADER.size + array("i").itemsize * count
    return _Header(start, checksum) if (magic, start + state_size) == (_MAGIC, size) else None


def _read_tokens(path: Path) -> list[int]:
    try:
        with path.open("rb") as file:
            header = _header(file.read(_HEADER.size), path.stat().st_size)
            return _tokens(file.read(header.state_start - _HEADER.size)) if header else []
    except OSError:
        return []


def _read(content: bytes) -> PrefixState | None:
    if (header := _header(content, len(content))) is None:
        return None
    data = content[header.state_start :]
    if zlib.crc32(data) != header.checksum:
        return None
    return PrefixState(_tokens(content[_HEADER.size : header.state_start]), data)


def _tokens(data: bytes) -> list[int]:
    tokens = array("i")
    tokens.frombytes(data)
    return tokens.tolist()
