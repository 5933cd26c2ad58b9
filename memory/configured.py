"""The memory that the settings name."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .store import Place, Store

__all__ = ["configured_place", "open_configured_store"]


def configured_place(embedder: str = "wordllama") -> Place:
    """Return where the settings say that the memory lies."""
    from ..settings import SwarmSettings, home
    from .store import Place

    return Place(home() / "memory", SwarmSettings().memory or "", embedder)


@contextmanager
def open_configured_store(embedder: str = "wordllama") -> Generator[Store]:
    """Open the memory that the settings name, and close it.

    Raises:
        InputError: There is no embedder of that name.
        MemoryStoreError: The memory can't be opened.
    """
    from .embedding.factory import make_embedder
    from .store import Store

    make_embedder(embedder)
    store = Store(configured_place(embedder))
    try:
        yield store
    finally:
        store.close()
