"""Files that are made of a model file once, whole or not at all, whatever processes want them."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from ....errors import ModelError
from ....files import owner_only, replace_atomically, require_room, storage_error
from ..adapter import source_of
from ..gguf import check_model_file, last_tensor, read_tensors
from .tensor_types import bytes_of

__all__ = ["is_whole", "make_once", "write_whole"]


def make_once(path: Path, digest: str, make: Callable[[], None]) -> None:
    """Make a file, unless it is there.

    Args:
        path: The file.
        digest: The hash of its source.
        make: Makes it by `write_whole`.

    Raises:
        StorageError: Its folder can't be written to.
    """
    folder = path.parent
    require_room(folder, 0)
    with _making(folder, digest):
        # Another process may have made it while this one waited.
        if is_whole(path, digest):
            return
        _remove_remains(folder, path)
        make()


def write_whole(path: Path, needed: int, write: Callable[[Path], None]) -> None:
    """Write a model file under another name; it takes its own once it is whole.

    Args:
        path: The file.
        needed: Bytes that it will have, about.
        write: Writes it to the path that it is given.

    Raises:
        StorageError: There is no room for it, or its folder can't be written to.
    """
    require_room(path.parent, needed)
    try:
        with replace_atomically(path) as temporary:
            write(temporary)
    except OSError as error:
        raise storage_error(path, needed, error) from error


@contextmanager
def _making(folder: Path, digest: str) -> Generator[None]:
    """Hold the lock of a source's forms, which dies with the process."""
    try:
        file = open(  # noqa: SIM115 - closed below
            folder / f"{digest}.lock", "a", encoding="ascii", opener=owner_only
        )
    except OSError as error:
        raise storage_error(folder, 0, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise storage_error(folder, 0, error) from error
        yield


def _remove_remains(folder: Path, path: Path) -> None:
    """Remove what a killed process was writing. The caller holds the lock."""
    for remains in folder.glob(f".{path.name[:40]}-*"):
        remains.unlink(missing_ok=True)


def is_whole(path: Path, digest: str) -> bool:
    """Whether a file was made from the source of this hash and has all that its header says."""
    try:
        path = check_model_file(path)
        if source_of(path) != digest:
            return False
        last = last_tensor(read_tensors(path, "model file"))
        return path.stat().st_size >= last.start + (bytes_of(last) or 0)
    except (ModelError, OSError):
        return False
