"""The folder of the generations: publishing a new one atomically, and removing old ones."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from ...errors import MemoryStoreError
from ...files import close_to_others, make_folder, owner_only
from ...text import count_in
from ...untrusted.folder import read_file
from ...untrusted.opening import open_plain, opened_folder
from .generation import Manifest, Pointer, read_pointer, seal_of, write_manifest

__all__ = [
    "clean",
    "consolidation_lock",
    "new_folder",
    "next_number",
    "publish",
    "remove_void",
    "sweep",
    "void_generations",
]

KEPT = 2
"""Generations that are kept: a process may have read the pointer but not opened it yet."""


@contextmanager
def consolidation_lock(folder: Path) -> Generator[bool]:
    """Hold the consolidator's lock, which dies with the process; False if another holds it.

    Raises:
        MemoryStoreError: The folder can't be written.
    """
    try:
        make_folder(folder)
        file = open(  # noqa: SIM115 - closed below
            folder / "consolidate.lock", "a", encoding="ascii", opener=owner_only
        )
    except OSError as error:
        raise _unwritable(folder, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def new_folder(folder: Path) -> Path:
    """Make an empty folder for a new generation.

    Raises:
        MemoryStoreError: It can't be made.
    """
    try:
        make_folder(folder / "generations")
        return Path(tempfile.mkdtemp(dir=folder / "generations", prefix=".new-"))
    except OSError as error:
        raise _unwritable(folder, error) from error


def next_number(folder: Path) -> int:
    """The number after the highest here."""
    return max((number for number, _ in _generations(folder)), default=0) + 1


def publish(folder: Path, made: Path, manifest: Manifest) -> Pointer:
    """Seal the files in `made`, move it into place, and point to it; readers see all or nothing.

    `manifest.files` is filled in here.

    Raises:
        MemoryStoreError: It can't be written; the previous generation stays.
    """
    try:
        files = sorted(path for path in made.rglob("*") if path.is_file())
        seals = {str(path.relative_to(made)): seal_of(path) for path in files}
        pointer = write_manifest(made, manifest.model_copy(update={"files": seals}))
        for path in [*made.rglob("*"), made]:
            # FAISS and Kuzu leave the mode to the umask.
            close_to_others(path)
            _sync(path)
        target = folder / "generations" / str(manifest.number)
        made.rename(target)
        _sync(target.parent)
        _point(folder, pointer)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return pointer


def clean(folder: Path) -> None:
    """Remove the remains of a killed consolidator. The caller holds the lock."""
    for path in (folder / "generations").glob(".*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in folder.glob(".current-*"):
        path.unlink(missing_ok=True)


def sweep(folder: Path, current: int, forgotten: int) -> None:
    """Remove old generations that no process reads.

    Args:
        folder: The memory's folder.
        current: The number of the current generation.
        forgotten: The log's number. Generations of another number hold what was forgotten, and are
            removed even if they are read: readers check the log's number before each use.
    """
    for number, path in sorted(_generations(folder), reverse=True):
        recent = current - KEPT < number
        kept = _forgotten_of(path) == forgotten and (recent or _is_read(path))
        if number == current or kept:
            continue
        # Renamed first, so that no process opens a half-removed generation.
        hidden = path.with_name(f".gone-{number}")
        try:
            path.rename(hidden)
        except OSError:
            continue
        shutil.rmtree(hidden, ignore_errors=True)


def remove_void(folder: Path, forgotten: int) -> None:
    """Remove the generations that have what was forgotten, unless another process builds them.

    Args:
        folder: The memory's folder.
        forgotten: The log's number; generations of another hold what was forgotten.

    Raises:
        MemoryStoreError: The folder can't be written.
    """
    with consolidation_lock(folder) as ours:
        if not ours:
            return
        clean(folder)
        current = read_pointer(folder)
        number = current.number if isinstance(current, Pointer) else 0
        if void := void_generations(folder, forgotten):
            if folder / "generations" / str(number) in void or not number:
                # Before what it points to goes: no process finds a pointer that leads nowhere.
                (folder / "current").unlink(missing_ok=True)
                number = 0
            sweep(folder, number, forgotten)


def void_generations(folder: Path, forgotten: int, *, doubtful: bool = True) -> list[Path]:
    """Return the generations that have what was forgotten.

    Args:
        folder: The memory's folder.
        forgotten: The log's number; generations of another have what was forgotten.
        doubtful: Those too that don't say any more what they have, being damaged or half-removed.
    """
    numbers = {path: _forgotten_of(path) for _, path in _generations(folder)}
    found = [path for path, number in numbers.items() if number not in (forgotten, None)]
    if doubtful:
        found += [path for path, number in numbers.items() if number is None]
        found += (folder / "generations").glob(".gone-*")
    return sorted(found)


def _point(folder: Path, pointer: Pointer) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".current-")
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(str(pointer))
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(folder / "current")
    _sync(folder)


def _generations(folder: Path) -> list[tuple[int, Path]]:
    paths = (folder / "generations").glob("[0-9]*")
    return [(number, path) for path in paths if (number := count_in(path.name)) is not None]


def _forgotten_of(path: Path) -> int | None:
    try:
        return Manifest.model_validate_json(read_file(path / "manifest.json")).forgotten
    except (OSError, ValidationError):
        return None


def _is_read(path: Path) -> bool:
    try:
        with opened_folder(path) as at:
            descriptor = open_plain(at, "manifest.json", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(folder: Path, error: OSError) -> MemoryStoreError:
    return MemoryStoreError(
        f"The memory's index in {folder} can't be written: {error}.",
        "Check the folder's permissions and the disk's free space.",
    )
