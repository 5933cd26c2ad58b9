"""Fetches what a run reads of storage blocks and writes what it made, in a process of its own.

`python -m prefect_swarm.flows.prefect_io.storage_process` reads a line of JSON that says what, as
`Wanted` and `Given`. A storage may hang, hold more than anybody expected, or name its files so that
they lead elsewhere: a process can be ended and bounded whatever library it is in. It ends when its
standard input is closed, so it outlives nobody.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import json
import os
import resource
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from ...untrusted.folder import UntrustedFolder
from ...untrusted.opening import UnsafeFileError

__all__ = [
    "Given",
    "OutsideError",
    "UnfetchedError",
    "Wanted",
    "fetch",
    "give",
    "serve",
    "writing_only_below",
]

FaultKind = Literal["block", "class", "no storage", "path", "outside", "large", "server"]

_MEMORY_BYTES = 4 << 30
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What each of these writes to, by the place in the event's arguments.
_WRITES = {
    "os.mkdir": 0,
    "os.rename": 1,
    "os.link": 1,
    "os.symlink": 1,
    "os.truncate": 0,
    "os.chmod": 0,
    "os.remove": 0,
    "os.rmdir": 0,
}


class Wanted(NamedTuple):
    """What is fetched.

    Attributes:
        block: The block's type and name.
        path: The file, or the folder without a slash at its end; "" for the whole storage.
        is_folder: Whether it is a folder.
        target: Where it is written: the path of a file or of a folder, below `root`.
    """

    block: str
    path: str
    is_folder: bool
    target: str


class Given(NamedTuple):
    """What is written.

    Attributes:
        block: The block's type and name.
        path: The file in the storage.
        source: The file that it is a copy of; "" where nothing is written: it is only looked
            whether that can be.
    """

    block: str
    path: str
    source: str


class UnfetchedError(Exception):
    """Something isn't fetched or written, and why."""

    def __init__(self, kind: FaultKind, why: str) -> None:
        super().__init__(why)
        self.kind: FaultKind = kind


class OutsideError(PermissionError):
    """A storage would have written outside of the folder that is its own."""


_guarded: str | None = None
_hooked = False


@contextmanager
def writing_only_below(root: Path) -> Generator[None]:
    """Refuse what Python code writes outside of a folder while this is open, in any thread.

    Names of a storage's files are others'; what puts them behind a folder's path may not look for
    `..` in them.
    """
    global _guarded, _hooked
    if not _hooked:
        sys.addaudithook(_look)
        _hooked = True
    _guarded = os.path.realpath(root)
    try:
        yield
    finally:
        _guarded = None


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if _guarded is None:
        return
    if event == "open":
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & _WRITING:
            return
    elif event in _WRITES:
        path = arguments[_WRITES[event]]
    else:
        return
    if isinstance(path, int) or path is None:
        return
    place = os.path.realpath(os.fsdecode(path))
    if place != _guarded and not place.startswith(f"{_guarded}/") and place != os.devnull:
        raise OutsideError(errno.EACCES, "its name leads out of the folder", os.fsdecode(path))


async def fetch(block: object, wanted: Wanted, root: Path) -> None:
    """Write a file or a folder of a storage below a folder.

    Args:
        block: The storage.
        wanted: What of it.
        root: The folder; nothing is written outside of it.

    Raises:
        UnfetchedError: The block is no storage, or it isn't there or can't be had.
    """
    from prefect.filesystems import (
        ReadableDeploymentStorage,
        ReadableFileSystem,
        WritableDeploymentStorage,
        WritableFileSystem,
    )

    folders = (ReadableDeploymentStorage, WritableDeploymentStorage)
    files = (ReadableFileSystem, WritableFileSystem)
    if not isinstance(block, folders if wanted.is_folder else files):
        raise UnfetchedError("no storage", f"it is of the type {type(block).__name__}")
    source: Any = block  # What it has depends on the type, which was checked.
    target = Path(wanted.target)
    try:
        if wanted.is_folder:
            os.makedirs(target, exist_ok=True)
            with writing_only_below(root):
                await _folder_from(source, wanted)
        else:
            with writing_only_below(root):
                data = cast("bytes", await _awaited(source.read_path(wanted.path)))
            UntrustedFolder(root).create(str(target.relative_to(root)), data)
    except (OutsideError, UnsafeFileError) as error:
        raise UnfetchedError("outside", str(error)) from None
    except MemoryError:
        raise UnfetchedError("large", "it takes more memory than it may") from None
    except Exception as error:  # noqa: BLE001 - each library has types of its own
        is_large = isinstance(error, OSError) and error.errno == errno.EFBIG
        why = str(error) or type(error).__name__
        raise UnfetchedError("large" if is_large else "path", why) from None


async def give(block: object, given: Given) -> None:
    """Write a file into a storage, in the place of one that has its path.

    Raises:
        UnfetchedError: The block is no storage that can be written to, or it can't be had.
    """
    from prefect.filesystems import WritableDeploymentStorage, WritableFileSystem

    # Some of Prefect's own say the one where they have both.
    if not isinstance(block, (WritableFileSystem, WritableDeploymentStorage)) or not hasattr(
        block, "write_path"
    ):
        raise UnfetchedError("no storage", f"it is of the type {type(block).__name__}")
    if not given.source:
        return
    target: Any = block
    try:
        data = await asyncio.to_thread(Path(given.source).read_bytes)
        await _awaited(target.write_path(given.path, data))
    except Exception as error:  # noqa: BLE001 - each library has types of its own
        raise UnfetchedError("path", str(error) or type(error).__name__) from None


async def _folder_from(block: Any, wanted: Wanted) -> None:
    from prefect.blocks.abstract import ObjectStorageBlock

    given = f"{wanted.path}/" if wanted.path else ""
    if isinstance(block, ObjectStorageBlock):
        # Of a bucket with a folder of its own it begins in that, as `read_path` does.
        bucket: Any = block
        await _awaited(bucket.download_folder_to_path(given, wanted.target))
    else:
        await _awaited(block.get_directory(given or None, wanted.target))


async def _awaited(value: object) -> object:
    return await value if inspect.isawaitable(value) else value


async def _load(reference: str) -> Any:
    import httpx
    from prefect.blocks.core import Block, UnknownBlockType

    try:
        return await Block.aload(reference)
    except UnknownBlockType as error:
        raise UnfetchedError("class", str(error)) from None
    except httpx.HTTPError as error:
        raise UnfetchedError("server", str(error) or type(error).__name__) from None
    except ValueError as error:
        kind = "block" if "Unable to find" in str(error) else "class"
        raise UnfetchedError(kind, str(error)) from None
    except (RuntimeError, ImportError) as error:
        raise UnfetchedError("server", str(error)) from None


async def _do_all(request: dict[str, Any]) -> dict[str, Any]:
    root, blocks = Path(request["root"]), dict[str, Any]()
    wanted = [Wanted(*fields) for fields in request["wanted"]]
    given = [Given(*fields) for fields in request["given"]]
    for number, each in enumerate([*wanted, *given]):
        try:
            if each.block not in blocks:
                blocks[each.block] = await _load(each.block)
            if isinstance(each, Wanted):
                await fetch(blocks[each.block], each, root)
            else:
                await give(blocks[each.block], each)
        except UnfetchedError as fault:
            return {"number": number, "kind": fault.kind, "why": str(fault)}
    return {}


def serve() -> None:
    """Do what the first line of standard input says, and write how it went."""
    request: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limits = (("RLIMIT_AS", _MEMORY_BYTES), ("RLIMIT_FSIZE", request["most_bytes"]))
    for name, most in limits:
        with suppress(OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (most, most))
    answer = asyncio.run(_do_all(request))
    Path(request["answer"]).write_text(json.dumps(answer))
    # A thread of a library may still be waiting for its storage.
    os._exit(0)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    serve()
