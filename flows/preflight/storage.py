"""Whether a run can be stored, before anything of it is paid for."""

from __future__ import annotations

from pathlib import Path

from prefect.settings import get_current_settings

from ...files import require_room
from ...settings import home, home_variable
from ...settings.data_folder import own_data_folder

__all__ = ["LEAST_BYTES", "check_storage"]

LEAST_BYTES = 16 << 20
"""Free bytes that a run is not started without: more than most runs leave."""


def check_storage() -> None:
    """Make sure that there is room for runs and for Prefect's results.

    Raises:
        InputError: The data folder is another user's.
        StorageError: A folder can't be written, or its disk is full.
    """
    own_data_folder(home())
    for folder, variable in _folders():
        require_room(folder, LEAST_BYTES, variable)


def _folders() -> list[tuple[Path, str]]:
    """Return the folders, and what names others in their places."""
    settings = get_current_settings()
    own = (home() / "runs", home_variable())
    results, path = settings.results, settings.results.local_storage_path
    if results.default_storage_block is not None:
        return [own]
    is_prefects = settings.home in path.parents
    return [own, (path, "PREFECT_HOME" if is_prefects else "PREFECT_LOCAL_STORAGE_PATH")]
