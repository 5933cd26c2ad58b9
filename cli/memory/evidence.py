"""Taking out of the decisions about personas what they hold of forgotten episodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ...memory.episode import EpisodeKey, Selection

if TYPE_CHECKING:
    from ...memory.persona.store import PersonaStore

__all__ = ["forget_evidence", "personas_meant"]


def personas_meant(store: PersonaStore, namespace: str, which: Selection) -> tuple[str, ...]:
    """Name the invented personas that go with the episodes, their prompts and evidence too.

    That is all of them if everything goes, the one that is named, and those whose prompt has the
    text that is to go. With a second condition it is none: that is about episodes.
    """
    from ...memory.log.rows import mentions

    known = store.registry(namespace).known
    invented = {name: one.persona for name, one in known.items() if one.origin == "invented"}
    if which == Selection(everything=True):
        return tuple(invented)
    if which.persona is not None and which == Selection(persona=which.persona):
        return tuple(name for name in invented if name == which.persona)
    if which.containing is not None and which == Selection(containing=which.containing):
        said = {name: (name, one.title, one.instructions) for name, one in invented.items()}
        return tuple(name for name in said if mentions(which.containing, said[name]))
    return ()


def forget_evidence(
    store: PersonaStore,
    namespace: str,
    which: Selection,
    personas: Collection[str],
    keys: Collection[EpisodeKey],
) -> int:
    """Remove these personas, and from what was decided of others the keys and the text.

    Returns how many decisions went or changed.

    Raises:
        MemoryStoreError: The store can't be written, or a reader keeps its bytes in the WAL.
    """
    if which.everything:
        return store.forget(namespace)
    gone = sum(store.forget(namespace, name) for name in personas)
    return gone + store.scrub(namespace, keys, which.containing)
