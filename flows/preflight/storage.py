"""Whether a run can be stored, before anything of it is paid for."""

from __future__ import annotations

from pathlib import Path

from prefect.settings import get_current_settings

from ...files import require_room
from ...settings import home

__all__ = ["LEAST_BYTES", "check_storage"]

LEAST_BYTES = 16 << 20
"""Free bytes that a run is not started without: more than most runs leave."""


def check_storage() -> None:
    """Make sure that there is room for runs and for Prefect's results.

    Raises:
        StorageError: A folder can't be written, or its disk is full.
    """
    for folder in _folders():
        require_room(folder, LEAST_BYTES)


def _folders() -> list[Path]:
    settings = get_current_settings()
    results = settings.results
    is_local = results.default_storage_block is None
    return [home() / "runs", *([results.local_storage_path] if is_local else [])]
