"""Shared beginnings of prompts: their states in memory and in a folder, used again."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import zlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...files import make_folder, write_atomically
from .api import EngineConfig
from .slots import Slot, common_prefix

if TYPE_CHECKING:
    from .native import Native

__all__ = ["PrefixFolder", "PrefixState", "PrefixStates", "StoredPrefixes", "stored_prefixes"]


@dataclass(frozen=True, slots=True, eq=False)
class PrefixState:
    """What llama.cpp has computed for a prompt, or for its beginning.

    Attributes:
        tokens: The prompt's tokens.
        data: What `Native.save` gave for them.
    """

    tokens: list[int]
    data: bytes


class StoredPrefixes:
    """States up to so many bytes together."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._states: list[PrefixState] = []

    @property
    def size(self) -> int:
        """Bytes of all states."""
        return sum(len(state.data) for state in self._states)

    def find(self, prompt: Sequence[int]) -> tuple[PrefixState | None, int]:
        """Return the state that has most of a prompt's beginning, and how many tokens of it."""
        best, length = None, 0
        for state in self._states:
            if (common := common_prefix(state.tokens, prompt)) > length:
                best, length = state, common
        if best is not None:
            self._states.remove(best)
            self._states.append(best)
        return best, length

    def put(self, state: PrefixState) -> None:
        """Keep a state, unless it is larger than all may be together.

        What it begins with is in it and goes; then those go that were not used for longest.
        """
        if len(state.data) > self._most_bytes:
            return
        self._states = [
            known
            for known in self._states
            if common_prefix(known.tokens, state.tokens) < len(known.tokens)
        ]
        self._states.append(state)
        while self.size > self._most_bytes:
            del self._states[0]

    def drop(self, state: PrefixState) -> None:
        """Keep a state no longer, if it is kept."""
        self._states = [known for known in self._states if known is not state]


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


def stored_prefixes(path: Path, config: EngineConfig) -> PrefixFolder | None:
    """Return the stored beginnings of a model that is served so; None if the setting says none.

    What was computed in another way, or by another llama.cpp, has a folder of its own.

    Args:
        path: The model file.
        config: How it is served.
    """
    # Not at import: settings are Prefect's, and a command's help needs none of it.
    from ...settings import SwarmSettings, home

    settings = SwarmSettings()
    if not settings.prefix_store_mb:
        return None
    # Their number changes nothing of what is computed for each.
    served = replace(config, n_slots=1, n_threads=None, n_ctx=1, seed=0, keep_loaded=False)
    files = [_identity(file) for file in (path, config.adapter) if file is not None]
    parts = [version("llama-cpp-python"), *files, repr(served)]
    name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    return PrefixFolder(home() / "prefixes" / name, settings.prefix_store_mb << 20)


def _identity(path: Path) -> str:
    stat = path.stat()
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"


_STORED_BYTES = 256 << 20
_WORTH_RESTORING = 64
"""Tokens that a state must save beyond what the slots do: reading it takes as long as computing a
few."""
_WORTH_KEEPING = 256
"""Tokens from which a prompt is kept that its slot loses, and a shared beginning is stored."""
_OWN_TOKENS = 16
"""Tokens in which two prompts must differ at their end: asking the same again shares nothing."""


class PrefixStates:
    """The states of one context's prompts; used in the thread that the context belongs to."""

    def __init__(self, native: Native, folder: PrefixFolder | None = None) -> None:
        self._native = native
        self._stored = StoredPrefixes(_STORED_BYTES)
        self._folder = folder

    def keep(self, slot: Slot, remaining: int) -> None:
        """Keep what a free slot is about to lose, all but the first `remaining` tokens."""
        length = len(slot.tokens)
        if length - remaining < _WORTH_KEEPING or self._stored.find(slot.tokens)[1] == length:
            return
        self._native.forget(slot.sequence, length)
        self._stored.put(PrefixState(slot.tokens, self._native.save(slot.sequence)))

    def restore(self, slot: Slot, prompt: Sequence[int], found: int) -> int:
        """Restore a prompt's beginning in a free slot, if a state has much more than was found.

        Returns:
            How many of its tokens the slot holds now; 0 if it is unchanged.
        """
        state, length = self._best(prompt, found + _WORTH_RESTORING)
        if state is None:
            return 0
        self._native.forget(slot.sequence)
        if not self._native.restore(slot.sequence, state.data):
            self._native.forget(slot.sequence)
            slot.tokens = []
            self._stored.drop(state)
            return 0
        self._native.forget(slot.sequence, length)
        return length

    def store_shared(self, slot: Slot, prompt: Sequence[int], length: int) -> None:
        """Store the beginning that a prompt shares with another for processes to come.

        The slot holds it, and nothing else.
        """
        if self._folder is None or length < _WORTH_KEEPING or len(prompt) - length < _OWN_TOKENS:
            return
        tokens = list(prompt[:length])
        if self._folder.find(tokens)[1] < length:
            self._folder.write(PrefixState(tokens, self._native.save(slot.sequence)))

    def _best(self, prompt: Sequence[int], least: int) -> tuple[PrefixState | None, int]:
        state, length = self._stored.find(prompt)
        path, stored = self._folder.find(prompt) if self._folder else (None, 0)
        if self._folder and path is not None and stored >= max(least, length + 1):
            read = self._folder.load(path)
            if read is not None:
                self._stored.put(read)
                return read, stored
        return (state, length) if length >= least else (None, 0)
