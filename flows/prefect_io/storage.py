"""Files in Prefect's storage blocks as inputs of a run: fetched, then read as local files are."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.settings import get_current_settings

from ...errors import InputError, ServerError, SwarmError
from ...inputs.folders import MAX_FOUND
from ...inputs.reading import FilesRead, read_files, reading_notes
from ...inputs.selection import path_excludes
from ...inputs.storage_paths import STORAGE_FORM, StoragePath, parse_storage_paths
from ...text import one_line, size
from .schema_flow import ensure_server
from .storage_process import Wanted

__all__ = ["FetchBounds", "read_storage", "storage_texts"]

_logger = logging.getLogger("prefect_swarm.inputs")
_LOOK_S = 0.1
_WHY = 300


@dataclass(frozen=True, slots=True)
class FetchBounds:
    """What fetching may take, of all paths of a run together."""

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
    (root / _SCRATCH).mkdir()
    request = {
        "root": str(root),
        "answer": str(root / _ANSWER),
        "most_bytes": bounds.bytes,
        "wanted": [
            Wanted(
                each.block,
                each.path if each.folder is None else each.folder,
                each.folder is not None,
                str(_target(each, root)),
            )
            for each in wanted
        ],
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
        await _watch(process, wanted, root / _FILES, bounds)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if fault := _answer(root / _ANSWER):
        raise _error(wanted[int(fault["number"])], fault, bounds)


async def _environment(scratch: Path) -> dict[str, str]:
    """Return the variables of a process that asks the server which this one asks."""
    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    async with get_client() as client:
        # Of a server that Prefect started for this process no setting has the address.
        leading = {"PREFECT_API_URL": str(client.api_url).rstrip("/")}
    quiet = {"PREFECT_LOGGING_TO_API_ENABLED": "false", "TMPDIR": str(scratch)}
    return {**os.environ, **settings, **leading, **quiet}


async def _watch(
    process: Process, wanted: Sequence[StoragePath], folder: Path, bounds: FetchBounds
) -> None:
    """Return when the process has ended; look meanwhile what it has fetched."""
    loop = asyncio.get_running_loop()
    until = loop.time() + bounds.seconds
    named = one_line(", ".join(map(str, wanted)), _WHY)
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LOOK_S)
        files, taken = await asyncio.to_thread(_measured, folder)
        if files > bounds.files or taken > bounds.bytes:
            raise InputError(
                f"The input {named} has more than {bounds.files:,} files or {size(bounds.bytes)}.",
                "Name a folder in it, or single files.",
            )
        if process.returncode is not None:
            return
        if loop.time() > until:
            raise InputError(
                f"The input {named} was not read within {bounds.seconds:g} s.",
                "Check that the storage answers, or name less of it.",
            )


def _measured(folder: Path) -> tuple[int, int]:
    """Return how many files a folder has, and their bytes; it may change meanwhile."""
    files = taken = 0
    for place, _, names in os.walk(folder):
        files += len(names)
        for name in names:
            with suppress(OSError):
                taken += os.lstat(f"{place}/{name}").st_size
    return files, taken


def _answer(path: Path) -> Mapping[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {"number": 0, "kind": "path", "why": "the process that reads it ended early"}


def _error(wanted: StoragePath, fault: Mapping[str, Any], bounds: FetchBounds) -> SwarmError:
    block, why = wanted.block, one_line(str(fault["why"]), _WHY).rstrip(".")
    match fault["kind"]:
        case "block":
            return InputError(
                f"The input {wanted}: there is no block {block}.",
                f"Make it in the Prefect UI, or see `prefect block ls`. The form is "
                f"{STORAGE_FORM}.",
            )
        case "class":
            return InputError(
                f"The input {wanted}: the block {block} can't be loaded: {why}.",
                "Install the package that has its type where the run works, such as prefect-aws.",
            )
        case "no storage":
            return InputError(
                f"The input {wanted}: the block {block} is no storage; {why}.",
                "Name a storage, such as a local-file-system, remote-file-system or s3-bucket.",
            )
        case "outside":
            return InputError(
                f"The input {wanted} has a file that would be written elsewhere: {why}.",
                "Rename it in the storage.",
            )
        case "large":
            return InputError(
                f"The input {wanted} is too large: {why}. {size(bounds.bytes)} are fetched at "
                "most.",
                "Name less of it.",
            )
        case "server":
            return ServerError(
                f"The input {wanted}: the Prefect server can't be asked for {block}: {why}.",
                "Try again once it answers.",
            )
        case _:
            return InputError(f"The input {wanted} can't be read: {why}.", _how_to_name(wanted))


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
