"""The folder of Prefect's results: looked up once, and what is in it is its owner's alone.

Prefect looks at every folder above a file for links, five times a step: 54 calls of the system. It
leaves a file's mode to the umask, by which anybody may read it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from prefect.context import FlowRunContext
from prefect.filesystems import LocalFileSystem

from ...files import close_to_others, is_shared_mode, make_folder, owner_only

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

    async def awrite_path(self, path: str, content: bytes) -> str:
        self._close_to_others(path)
        return await super().awrite_path(path, content)

    def write_path(self, path: str, content: bytes, **how: Any) -> str:
        self._close_to_others(path)
        written: Any = super().write_path(path, content, **how)
        return written

    async def aread_path(self, path: str) -> bytes:
        # An older version's are closed when they are read.
        close_to_others(self._resolve_path(path))
        return await super().aread_path(path)

    def _close_to_others(self, path: str) -> None:
        """Make a file, and the folders to it that are missing, before Prefect writes it."""
        file = self._resolve_path(path)
        make_folder(file.parent)
        if is_shared_mode(os.stat(file.parent).st_mode):
            return  # Machines of several users may go on with each other's runs by it.
        os.close(owner_only(str(file), os.O_WRONLY | os.O_CREAT))


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
