"""Building the index, after waiting for another process that builds it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...errors import MemoryStoreError

if TYPE_CHECKING:
    from ..store import Store
    from .generation_store import Consolidation

__all__ = ["build_index"]

_PATIENCE_S = 120.0
_PAUSE_S = 0.2


def build_index(store: Store, *, full: bool = False) -> Consolidation:
    """Bring the index up to the log's end; wait while another process is doing so.

    Raises:
        MemoryStoreError: The index can't be built, or the other process takes too long.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while (done := store.consolidate(full=full)).status == "busy":
        if time.monotonic() > deadline:
            raise MemoryStoreError(
                f"Another process is building the index in {store.place.folder} all the time.",
                "Try again when it has ended: prefect-swarm memory rebuild",
            )
        time.sleep(_PAUSE_S)
    return done
