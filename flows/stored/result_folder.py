"""The folder of Prefect's results: looked up once, and what is in it is its owner's alone.

Prefect looks at every folder above a file for links, five times a step: 54 calls of the system. It
leaves a file's mode to the umask, by which anybody may read it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from prefect.context import FlowRunContext
from prefect.filesystems import LocalFileSystem

from ...files import OWNER_ONLY, READABLE, close_to_others, is_shared_mode
from ...untrusted.folder import UntrustedFolder

__all__ = ["ResultFolder", "look_up_result_folder"]


class ResultFolder(LocalFileSystem):
    """A folder without links on the way to it; `basepath` is absolute."""

    # A name of its own: Prefect keeps one class for each.
    _block_type_name = "Swarm Result Folder"
    _block_type_slug = "swarm-result-folder"

    def _resolve_path(self, path: str) -> Path:
        base = self.basepath or os.getcwd()
        found = os.path.normpath(os.path.join(base, path)) if path else base
        if found != base and not found.startswith(os.path.join(base, "")):
            raise ValueError(f"The path {found} is outside of the folder {base}.")
        return Path(found)

    async def aread_path(self, path: str) -> bytes:
        """Read a result; a link, or anything else but a file, is none."""
        base, name = self._below(path)
        try:
            content = await asyncio.to_thread(UntrustedFolder(base).read, name)
        except OSError as error:
            raise ValueError(f"The result {path} can't be read: {error}.") from error
        # An older version's are closed when they are read.
        close_to_others(base / name)
        return content

    async def awrite_path(self, path: str, content: bytes) -> str:
        """Write a result, in the place of what has its name."""
        return await asyncio.to_thread(self.write_path, path, content)

    def write_path(self, path: str, content: bytes, **_: Any) -> str:
        """Write a result, in the place of what has its name."""
        base, name = self._below(path)
        UntrustedFolder(base).replace(name, content, _mode_in(base), durable=False)
        return str(base / name)

    def _below(self, path: str) -> tuple[Path, str]:
        base = self._resolve_path("")
        return base, self._resolve_path(path).relative_to(base).as_posix()


def _mode_in(folder: Path) -> int:
    """Return the mode of a result: where a group shares its folder, the umask decides."""
    try:
        return READABLE if is_shared_mode(os.stat(folder).st_mode) else OWNER_ONLY
    except FileNotFoundError:
        return OWNER_ONLY


def look_up_result_folder() -> None:
    """Have the flow run's tasks use the folder that its results are in as it is now.

    Nothing changes where results are not in a local folder, or a block of the user's says where.
    """
    context = FlowRunContext.get()
    if context is None:
        return
    storage = context.result_store.result_storage
    # Only Prefect's own kind: another has its own way to find files.
    if type(storage) is not LocalFileSystem or not storage.basepath:
        return
    if getattr(storage, "_block_document_id", None) is None:
        base = Path(storage.basepath).expanduser().resolve()
        context.result_store.result_storage = ResultFolder(basepath=str(base))
