"""The index of the memory as commands see it: what it stands at."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import MemoryStoreError

if TYPE_CHECKING:
    from ...memory.graph.kuzu import KuzuGraph
    from ...memory.index.generation import Generation
    from ...memory.store import Store

__all__ = ["Index", "graph_of", "index_of"]


@dataclass(frozen=True, slots=True)
class Index:
    """What was derived from the log.

    Attributes:
        generation: The one that counts; None if there is none, or it is damaged.
        damage: What is wrong with it, as text; "" if nothing is.
        void: Why one that is whole isn't used; "" if it is.
    """

    generation: Generation | None = None
    damage: str = ""
    void: str = ""


@contextmanager
def index_of(store: Store) -> Generator[Index]:
    """Look at the index of a memory, every byte of it; nothing is embedded or changed.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    from ...memory.index.generation import Damage, open_current, void_reason

    found = open_current(store.place.folder)
    if found is None:
        yield Index()
    elif isinstance(found, Damage):
        yield Index(damage=str(found))
    else:
        try:
            yield Index(found, void=void_reason(found.manifest, store.log, store.log.forgotten()))
        finally:
            found.close()


@contextmanager
def graph_of(store: Store) -> Generator[KuzuGraph | None]:
    """Open the graph read-only; None if there is none that can be trusted.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    with index_of(store) as index:
        if index.generation is None or index.void:
            yield None
            return
        try:
            graph = index.generation.graph()
        except MemoryStoreError:
            yield None
            return
        try:
            yield graph
        finally:
            graph.close()
