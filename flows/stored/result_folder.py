"""The folder of Prefect's results, whose way is looked up once and not for each file.

Prefect looks at every folder above a file for links, five times a step: 54 calls of the system.
"""

from __future__ import annotations

import os
from pathlib import Path

from prefect.context import FlowRunContext
from prefect.filesystems import LocalFileSystem

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
