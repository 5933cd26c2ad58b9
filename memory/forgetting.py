"""Forgetting: episodes and all that was derived from them are removed for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import MemoryStoreError
from .configured import open_configured_store
from .selecting import ResolvedSelection, make_selection, resolve_selection

if TYPE_CHECKING:
    from datetime import datetime

    from .persona.store import PersonaStore
    from .store import Store

__all__ = ["Forgotten", "forget", "forget_selection"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten.

    Attributes:
        episodes: How many.
        personas: The invented personas that went with them.
        decisions: How many decisions about personas went or changed.
        generation: The index that was built without them; None if there was no index.
    """

    episodes: int = 0
    personas: tuple[str, ...] = ()
    decisions: int = 0
    generation: int | None = None


def forget(
    *,
    run: str | None = None,
    step: str | None = None,
    persona: str | None = None,
    before: datetime | None = None,
    containing: str | None = None,
    everything: bool = False,
    namespace: str = "default",
    embedder: str = "wordllama",
) -> Forgotten:
    """Remove episodes for good, from the memory that the settings name, without confirmation.

    At least one condition is needed, and all have to hold. With the episodes go their vectors, the
    generations of the index that have them, what was learned of them, and their keys in decisions
    about personas; see docs/memory.md. It blocks until the index is built again.

    Args:
        run: All of this run: its flow run's id, or the short id that commands print.
        step: Of this step.
        persona: By this persona. If it is invented and this is the only condition, it is removed
            too.
        before: Ended before this time; without a time zone it is this machine's local time.
        containing: Prompt, objective, error or excerpt has this text, in any case. So do reasons of
            decisions, which lose it, and prompts of invented personas, which go if this is the only
            condition.
        everything: All of the namespace; no other condition may be given.
        namespace: Whose memory.
        embedder: What makes vectors where the index is built again: `wordllama`, `llamacpp:PATH` or
            `PROVIDER:MODEL`.

    Raises:
        InputError: No condition, an empty one, one together with `everything`, a short id that
            several runs have, or an unknown embedder.
        MemoryStoreError: The memory can't be read or written; the same call made again goes on.
    """
    which = make_selection(run, step, persona, before, containing, everything=everything)
    with open_configured_store(embedder) as store:
        return forget_selection(store, resolve_selection(store, namespace, which))


def forget_selection(store: Store, meant: ResolvedSelection) -> Forgotten:
    """Remove a resolved selection and all that was derived from it; a killed call can be repeated.

    Raises:
        MemoryStoreError: The memory can't be written, or a reader keeps its bytes.
    """
    if not meant:
        # An earlier call may have been killed halfway.
        store.log.vacuum()
        _finish(store)
        return Forgotten()
    # The log goes last: killed before that, the same call finds all of it again.
    decisions = _forget_decisions(store.personas, meant)
    gone = store.log.forget(meant.namespace, meant.which)
    return Forgotten(len(gone), meant.personas, decisions, _finish(store))


def _forget_decisions(store: PersonaStore, meant: ResolvedSelection) -> int:
    """Remove the personas, and from what was decided of others the keys and the text."""
    if meant.which.everything:
        return store.forget(meant.namespace)
    gone = sum(store.forget(meant.namespace, name) for name in meant.personas)
    keys = {entry.episode.key for entry in meant.entries}
    return gone + store.scrub(meant.namespace, keys, meant.which.containing)


def _finish(store: Store) -> int | None:
    """Rebuild the index if there is one, and return its number."""
    from .index.build import build_index
    from .index.generation import read_pointer
    from .learning.storage import clear_beliefs

    clear_beliefs(store.place.folder)
    if read_pointer(store.place.folder) is None:
        return None
    try:
        return build_index(store).generation
    except MemoryStoreError as error:
        raise MemoryStoreError(
            "The episodes are gone from the log, but the index that was built from them is still "
            f"on the disk: {error.problem}",
            "Build it again: prefect-swarm memory rebuild",
        ) from error
