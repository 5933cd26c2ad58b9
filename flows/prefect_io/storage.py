"""Files in Prefect's storage blocks: inputs of a run, read as local files are, and its output."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prefect.client.orchestration import get_client
from prefect.settings import get_current_settings

from ...errors import InputError, ServerError, StorageError, SwarmError
from ...inputs.folders import MAX_FOUND
from ...inputs.reading import FilesRead, read_files, reading_notes
from ...inputs.selection import path_excludes
from ...inputs.storage_paths import STORAGE_FORM, StoragePath, parse_storage_paths
from ...text import one_line, size
from .schema_flow import ensure_server
from .storage_process import Given, Wanted

__all__ = ["FetchBounds", "check_writable", "read_storage", "storage_texts", "write_storage"]

_logger = logging.getLogger("prefect_swarm.inputs")
_LOOK_S = 0.1
_WHY = 300


@dataclass(frozen=True, slots=True)
class FetchBounds:
    """What fetching, or writing, may take, of all paths of a run together."""

    seconds: float = 300.0
    bytes: int = 512 << 20
    files: int = MAX_FOUND


async def storage_texts(paths: Iterable[str]) -> dict[str, str]:
    """Read what a run is given of storages; what is left out is logged.

    Args:
        paths: As `read_storage` takes them; behind `!` patterns that exclude.

    Raises:
        InputError: As `read_storage` says.
        ServerError: As `read_storage` says.
    """
    taken, excluded = path_excludes(paths)
    read = await read_storage(taken, excluded)
    for note in reading_notes(read):
        _logger.warning("%s", note)
    return dict(read.texts)


async def read_storage(
    paths: Iterable[str],
    exclude: Sequence[str] = (),
    bounds: FetchBounds = FetchBounds(),
) -> FilesRead:
    """Read files, folders and patterns of storage blocks, as `read_files` reads local ones.

    They are fetched into a temporary folder, which is gone when this returns.

    Args:
        paths: Each as `TYPE/NAME:PATH`; a folder ends with a slash.
        exclude: Patterns of what isn't taken.
        bounds: What fetching may take.

    Raises:
        InputError: One isn't such a path; there is no such block, or it is no storage; nothing is
            there; it is too much, or takes too long; or a file can't be given to a model.
        ServerError: The Prefect server can't be asked for the blocks.
    """
    wanted = parse_storage_paths(paths)
    if not wanted:
        return FilesRead()
    await asyncio.to_thread(ensure_server)
    # Its path must not have a link in it: what is fetched is compared with it.
    with tempfile.TemporaryDirectory(prefix="swarm-", ignore_cleanup_errors=True) as made:
        root = _resolved(made)
        names = _Names(root, wanted)
        try:
            await _fetch(wanted, root, bounds)
            for each in wanted:
                _check_there(each, root)
            given = [str(_target(each, root, whole=True)) for each in wanted]
            return await asyncio.to_thread(read_files, given, exclude, names.in_text)
        except SwarmError as error:
            raise type(error)(names.in_text(error.problem), names.in_text(error.fix)) from None


def _resolved(path: str) -> Path:
    return Path(path).resolve()


async def check_writable(folder: StoragePath, bounds: FetchBounds = FetchBounds()) -> None:
    """Look whether the storage of a run's output is there; nothing is written.

    Raises:
        InputError: There is no such block, or it is no storage that can be written to.
        ServerError: The Prefect server can't be asked for it.
        StorageError: It was not there in time.
    """
    await _give(folder, {}, bounds)


async def write_storage(
    folder: StoragePath, files: Mapping[str, bytes], bounds: FetchBounds = FetchBounds()
) -> None:
    """Write files into a folder of a storage, in the place of those that have their paths.

    Args:
        folder: The folder, without a slash at its end.
        files: What they hold, by their paths in it.
        bounds: What it may take.

    Raises:
        InputError: There is no such block, or it is no storage that can be written to.
        ServerError: The Prefect server can't be asked for it.
        StorageError: It can't be written to, or not in time; some of the files may be there.
    """
    await _give(folder, files, bounds)


async def _give(folder: StoragePath, files: Mapping[str, bytes], bounds: FetchBounds) -> None:
    await asyncio.to_thread(ensure_server)
    with tempfile.TemporaryDirectory(prefix="swarm-", ignore_cleanup_errors=True) as made:
        root = _resolved(made)
        (root / _FILES).mkdir()
        given = [Given(folder.block, folder.path, "")]
        for number, (name, data) in enumerate(files.items()):
            (source := root / _FILES / str(number)).write_bytes(data)
            path = f"{folder.path}/{name}" if folder.path else name
            given.append(Given(folder.block, path, str(source)))
        place = f"The output {folder}"
        if not await _worked(root, bounds, _nothing, given=given):
            raise StorageError(
                f"{place} was not written within {bounds.seconds:g} s.",
                "Check that the storage answers.",
            )
        if fault := _answer(root / _ANSWER, "writes"):
            number = int(fault["number"])
            path = str(StoragePath(folder.block, given[number].path))
            if fault["kind"] == "path":
                raise StorageError(
                    f"The output {path} can't be written: {_why(fault)}.",
                    "Check what the block says of the storage.",
                )
            raise _error(f"The output {path}", folder.block, fault, bounds)


async def _nothing() -> None:
    pass


class _Names:
    """The temporary folder's paths, as people know the files."""

    def __init__(self, root: Path, wanted: Iterable[StoragePath]) -> None:
        self._blocks = {f"{root}/{_FILES}/{each.block}": each.block for each in wanted}

    def in_text(self, text: str) -> str:
        """Return a text with what the storages call the files."""
        for path, block in self._blocks.items():
            text = text.replace(f"{path}/", f"{block}:").replace(path, f"{block}:")
        return text


_FILES, _SCRATCH, _ANSWER = "f", "scratch", "answer.json"


def _target(wanted: StoragePath, root: Path, *, whole: bool = False) -> Path:
    """Return where something is put: below its block's name, which tells equal names apart.

    Args:
        wanted: What.
        root: The temporary folder.
        whole: With the pattern, where it is one.
    """
    folder = None if whole else wanted.folder
    path = wanted.path if folder is None else folder
    return root / _FILES / wanted.block / path


async def _fetch(wanted: Sequence[StoragePath], root: Path, bounds: FetchBounds) -> None:
    (root / _FILES).mkdir()
    named = one_line(", ".join(map(str, wanted)), _WHY)
    asked = [
        Wanted(
            each.block,
            each.path if each.folder is None else each.folder,
            each.folder is not None,
            str(_target(each, root)),
        )
        for each in wanted
    ]

    async def check_fetched() -> None:
        files, taken = await asyncio.to_thread(_measured, root / _FILES)
        if files > bounds.files or taken > bounds.bytes:
            raise InputError(
                f"The input {named} has more than {bounds.files:,} files or {size(bounds.bytes)}.",
                "Name a folder in it, or single files.",
            )

    if not await _worked(root, bounds, check_fetched, wanted=asked):
        raise InputError(
            f"The input {named} was not read within {bounds.seconds:g} s.",
            "Check that the storage answers, or name less of it.",
        )
    if fault := _answer(root / _ANSWER, "reads"):
        each = wanted[int(fault["number"])]
        if fault["kind"] == "path":
            raise InputError(f"The input {each} can't be read: {_why(fault)}.", _how_to_name(each))
        raise _error(f"The input {each}", each.block, fault, bounds)


async def _worked(
    root: Path,
    bounds: FetchBounds,
    look: Callable[[], Awaitable[None]],
    *,
    wanted: Sequence[Wanted] = (),
    given: Sequence[Given] = (),
) -> bool:
    """Have a process fetch and write; return whether it ended in time.

    Args:
        root: A folder of its own.
        bounds: What it may take.
        look: Is called meanwhile and at the end; what it raises ends the process.
        wanted: What is fetched.
        given: What is written.
    """
    (root / _SCRATCH).mkdir()
    request = {
        "root": str(root),
        "answer": str(root / _ANSWER),
        "most_bytes": bounds.bytes,
        "wanted": wanted,
        "given": given,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", f"{__package__}.storage_process"),
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        env=await _environment(root / _SCRATCH),
        start_new_session=True,
    )
    try:
        if process.stdin is None:
            raise InputError("The storage's process has no standard input.")
        process.stdin.write(json.dumps(request).encode() + b"\n")
        return await _ended(process, bounds.seconds, look)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ended(process: Process, seconds: float, look: Callable[[], Awaitable[None]]) -> bool:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LOOK_S)
        await look()
        if process.returncode is not None:
            return True
        if loop.time() > until:
            return False


async def _environment(scratch: Path) -> dict[str, str]:
    """Return the variables of a process that asks the server which this one asks."""
    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    async with get_client() as client:
        # Of a server that Prefect started for this process no setting has the address.
        leading = {"PREFECT_API_URL": str(client.api_url).rstrip("/")}
    quiet = {"PREFECT_LOGGING_TO_API_ENABLED": "false", "TMPDIR": str(scratch)}
    return {**os.environ, **settings, **leading, **quiet}


def _measured(folder: Path) -> tuple[int, int]:
    """Return how many files a folder has, and their bytes; it may change meanwhile."""
    files = taken = 0
    for place, _, names in os.walk(folder):
        files += len(names)
        for name in names:
            with suppress(OSError):
                taken += os.lstat(f"{place}/{name}").st_size
    return files, taken


def _answer(path: Path, does: Literal["reads", "writes"]) -> Mapping[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {"number": 0, "kind": "path", "why": f"the process that {does} it ended early"}


def _why(fault: Mapping[str, Any]) -> str:
    return one_line(str(fault["why"]), _WHY).rstrip(".")


def _error(what: str, block: str, fault: Mapping[str, Any], bounds: FetchBounds) -> SwarmError:
    why = _why(fault)
    match fault["kind"]:
        case "block":
            return InputError(
                f"{what}: there is no block {block}.",
                f"Make it in the Prefect UI, or see `prefect block ls`. The form is "
                f"{STORAGE_FORM}.",
            )
        case "class":
            return InputError(
                f"{what}: the block {block} can't be loaded: {why}.",
                "Install the package that has its type where the run works, such as prefect-aws.",
            )
        case "no storage":
            return InputError(
                f"{what}: the block {block} is no storage; {why}.",
                "Name a storage, such as a local-file-system, remote-file-system or s3-bucket.",
            )
        case "outside":
            return InputError(
                f"{what} has a file that would be written elsewhere: {why}.",
                "Rename it in the storage.",
            )
        case "large":
            return InputError(
                f"{what} is too large: {why}. {size(bounds.bytes)} are fetched at most.",
                "Name less of it.",
            )
        case _:
            return ServerError(
                f"{what}: the Prefect server can't be asked for {block}: {why}.",
                "Try again once it answers.",
            )


def _how_to_name(wanted: StoragePath) -> str:
    if wanted.folder is None:
        return f"Check the path. A folder ends with a slash: {wanted}/"
    return "Check the path, and what the block says of the storage."


def _check_there(wanted: StoragePath, root: Path) -> None:
    target = _target(wanted, root)
    if target.is_dir() and not any(target.iterdir()):
        raise InputError(
            f"The input {wanted} is an empty folder, or there is no such folder.",
            "Check the path.",
        )
