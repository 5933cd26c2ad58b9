"""A generation: what was derived from the log up to a position, in files that never change.

`generations/<n>` holds it. `current` names the current one and has the hash of its manifest, which
has the hashes of all other files. Opening a generation finds what is cut, missing or changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from ...data_types import Frozen
from ...errors import MemoryStoreError
from ...text import count_in
from ...untrusted.folder import UntrustedFolder, read_file
from ...untrusted.opening import open_plain, opened_folder, parts_of
from ..episode import LogEntry
from ..graph import KuzuGraph
from ..protocols import EpisodeLog
from .faiss import FaissIndex

__all__ = [
    "FORMAT",
    "GRAPH",
    "Damage",
    "Generation",
    "Manifest",
    "Pointer",
    "Seal",
    "end_of",
    "fits",
    "open_generation",
    "read_pointer",
    "seal_of",
    "write_manifest",
]

_POINTER_BYTES = 200
FORMAT = 2
"""Version of a generation's layout; other versions are rebuilt."""
GRAPH = "graph.kuzu"
_MANIFEST = "manifest.json"
_HEAD = 4096
_BLOCK = 1 << 20

# Generations whose files this process has hashed in full, by path and manifest; only
# `_verify_files` adds and looks. Each reader opens a generation itself, and hashing all of it takes
# seconds.
_verified: set[tuple[str, str]] = set()
_verifying = threading.Lock()


class Seal(Frozen):
    """A file's size, and the SHA-256 of its first 4 KiB and of all of it, when it was written."""

    size: int
    head: str
    sha256: str


class Manifest(Frozen):
    """What a generation holds.

    Attributes:
        embedder, dimension: The name of the embedder of its vectors, and their width.
        last_position: Everything in the log up to here is in it.
        end: Position and key of the last episode in it; "" if there is none.
        forgotten: The log's number when it was built; under another it is void.
        namespaces: The folder of each namespace's vectors.
        episodes: How many are in it.
        files: Every file but this one.
    """

    format: int = FORMAT
    number: int
    embedder: str
    dimension: int
    last_position: int
    end: str
    forgotten: int
    episodes: int
    namespaces: dict[str, str]
    files: dict[str, Seal]


def end_of(entry: LogEntry | None) -> str:
    """Identifies the last entry of a log: another log's, or a truncated log's, differs."""
    return f"{entry.position} {entry.episode.namespace} {entry.episode.key}" if entry else ""


def fits(manifest: Manifest, log: EpisodeLog) -> bool:
    """Whether the last episode of a generation is at its position in the log.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    if not manifest.end:
        return manifest.last_position <= log.last_position()
    position = int(manifest.end.split(" ", 1)[0])
    episode = log.at([position]).get(position)
    return episode is not None and end_of(LogEntry(position, episode)) == manifest.end


def void_reason(manifest: Manifest, log: EpisodeLog, forgotten: int, embedder: str = "") -> str:
    """Why an undamaged generation can't be used; "" if it can.

    Args:
        forgotten: The log's number now.
        embedder: The embedder whose vectors are wanted; "" for any.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    if manifest.forgotten != forgotten:
        return "episodes were forgotten since it was built"
    if embedder and manifest.embedder != embedder:
        return f"its vectors are {manifest.embedder}'s, not {embedder}'s"
    if not fits(manifest, log):
        return "it was built from another log, or from this one before it lost its end"
    return ""


class Damage(NamedTuple):
    """Why a generation can't be read. The log has everything, and a rebuild repairs it.

    Attributes:
        kind: `pointer`: the file `current` is unreadable; `missing`: a file doesn't exist;
            `size`, `checksum`: a file isn't as it was written; `version`: it was written by
            another version; `unreadable`: the file system or a library refuses it.
        path: Which file.
        what: What is wrong with it.
    """

    kind: Literal["pointer", "missing", "size", "checksum", "version", "unreadable"]
    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Pointer(NamedTuple):
    """The current generation, and the SHA-256 of its manifest."""

    number: int
    manifest: str

    def __str__(self) -> str:
        return f"{self.number} {self.manifest}\n"


class Generation:
    """An open generation. It isn't removed before `close`, unless its texts were forgotten."""

    def __init__(self, path: Path, manifest: Manifest, lock: int) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock
        self._indexes: dict[str, FaissIndex] = {}

    def index(self, namespace: str) -> FaissIndex | None:
        """The vectors of a namespace; None if it has none.

        Raises:
            MemoryStoreError: They can't be read.
        """
        folder = self.manifest.namespaces.get(namespace)
        if folder is None:
            return None
        if namespace not in self._indexes:
            self._indexes[namespace] = FaissIndex.read(self.path / folder)
        return self._indexes[namespace]

    def graph(self) -> KuzuGraph:
        """The graph, opened read-only.

        Raises:
            MemoryStoreError: It can't be opened.
        """
        return KuzuGraph(self.path / GRAPH, read_only=True)

    def close(self) -> None:
        """Release the lock, so that it may be removed."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __del__(self) -> None:
        self.close()


def read_pointer(folder: Path) -> Pointer | Damage | None:
    """Which generation of that memory is current; None if none was built yet."""
    path = folder / "current"
    try:
        text = read_file(path, _POINTER_BYTES).decode("ascii")
    except FileNotFoundError:
        # Generations without a pointer: it was lost, or the first one was just being published.
        lost = any((folder / "generations").glob("[0-9]*"))
        return Damage("pointer", str(path), "it isn't there") if lost else None
    except (OSError, UnicodeDecodeError) as error:
        return Damage("pointer", str(path), f"it can't be read: {error}")
    number, _, seal = text.removesuffix("\n").partition(" ")
    whole = text.endswith("\n") and len(seal) == hashlib.sha256().digest_size * 2
    if not whole or (found := count_in(number)) is None:
        return Damage("pointer", str(path), "it is cut or holds something else")
    return Pointer(found, seal)


def open_current(folder: Path) -> Generation | Damage | None:
    """Open the current generation, or return why not; None if none was built yet."""
    pointer = read_pointer(folder)
    return open_generation(folder, pointer) if isinstance(pointer, Pointer) else pointer


def open_generation(folder: Path, pointer: Pointer) -> Generation | Damage:
    """Open a generation, or return why not.

    Sizes and beginnings of its files are checked each time, all bytes the first time in a process.
    """
    path = folder / "generations" / str(pointer.number)
    try:
        with opened_folder(folder, ("generations", str(pointer.number))) as at:
            lock = open_plain(at, _MANIFEST, os.O_RDONLY)
    except OSError as error:
        return Damage("missing", str(path / _MANIFEST), error.strerror or "it can't be opened")
    found: Generation | None = None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        opened = _open_locked(path, pointer, lock)
        found = opened if isinstance(opened, Generation) else None
    except OSError as error:
        opened = Damage("unreadable", str(path), str(error))
    finally:
        if found is None:
            os.close(lock)
    return opened


def _open_locked(path: Path, pointer: Pointer, lock: int) -> Generation | Damage:
    data = read_file(path / _MANIFEST)
    if hashlib.sha256(data).hexdigest() != pointer.manifest:
        return Damage("checksum", str(path / _MANIFEST), "it isn't as it was written")
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError:
        return Damage("version", str(path / _MANIFEST), "it was written by another version")
    if manifest.format != FORMAT:
        return Damage("version", str(path / _MANIFEST), f"its format is {manifest.format}")
    damage = _verify_files(path, manifest, pointer)
    return damage or Generation(path, manifest, lock)


def _verify_files(path: Path, manifest: Manifest, pointer: Pointer) -> Damage | None:
    known = (str(path.resolve()), pointer.manifest)
    with _verifying:
        full = known not in _verified
        for name in (*manifest.files, *manifest.namespaces.values()):
            parts_of(name)
        for name, seal in manifest.files.items():
            if damage := _find_damage(path / name, seal, full):
                return damage
        _verified.add(known)
    return None


def _find_damage(path: Path, seal: Seal, full: bool) -> Damage | None:
    try:
        size = path.stat().st_size
        if size != seal.size:
            return Damage("size", str(path), f"it has {size:,} bytes, not {seal.size:,}")
        now = seal_of(path, full=full)
    except FileNotFoundError:
        return Damage("missing", str(path), "it isn't there")
    except OSError as error:
        return Damage("unreadable", str(path), str(error))
    if now.head != seal.head or (full and now.sha256 != seal.sha256):
        return Damage("checksum", str(path), "its bytes aren't those that were written")
    return None


def seal_of(path: Path, *, full: bool = True) -> Seal:
    """Compute the seal of a file; unless `full`, only its beginning is hashed.

    Raises:
        OSError: It can't be read.
    """
    whole = hashlib.sha256()
    with UntrustedFolder(path.parent).opened(path.name) as file:
        block = file.read(_HEAD)
        head = hashlib.sha256(block).hexdigest()
        while full and block:
            whole.update(block)
            block = file.read(_BLOCK)
        return Seal(size=os.fstat(file.fileno()).st_size, head=head, sha256=whole.hexdigest())


def write_manifest(path: Path, manifest: Manifest) -> Pointer:
    """Write the manifest of a generation whose other files are complete; return its pointer.

    Raises:
        MemoryStoreError: It can't be written.
    """
    data = manifest.model_dump_json(indent=2).encode()
    try:
        (path / _MANIFEST).write_bytes(data)
    except OSError as error:
        raise MemoryStoreError(f"{path} can't be written: {error}.", "Check the disk.") from error
    return Pointer(manifest.number, hashlib.sha256(data).hexdigest())
